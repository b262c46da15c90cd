import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { deleteSecret, type Secret, secretsQuery } from '~/api/access';
import { Loaded } from '~/api/Loaded';
import { useNames } from '~/api/names';
import { keys } from '~/api/queries';
import { useAct } from '~/api/useAct';
import { useDenied, useWhyNot } from '~/api/useWhyNot';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Confirm } from '~/ui/Confirm';
import { Empty } from '~/ui/Empty';
import { PlusIcon } from '~/ui/icons';
import { Badge } from '~/ui/Pill';
import { SkeletonRows } from '~/ui/Skeleton';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';
import { SecretDialog } from './SecretDialog';

/** Names of secrets; no route gives a value back. */
export function Secrets() {
  const { w, date } = useWords();
  const { userName } = useNames();
  const secrets = useQuery(secretsQuery());
  const [isSetting, setSetting] = useState(false);
  const whyNot = useWhyNot();
  const denied = useDenied('change');
  const [going, setGoing] = useState<Secret | null>(null);
  const remove = useAct({
    call: deleteSecret,
    changes: [keys.secrets],
    done: (_, { name }) => w.settings.secretDeleted(name),
    onDone: () => setGoing(null),
  });
  const columns: Column<Secret>[] = [
    { key: 'name', head: w.common.name, cell: ({ name }) => <span className="font-mono text-xs">{name}</span> },
    {
      key: 'owner',
      head: w.settings.secretOf,
      cell: ({ owner, shared }) => (shared || !owner ? <Badge>{w.settings.everyone}</Badge> : userName(owner)),
    },
    {
      key: 'updated',
      head: w.settings.secretSet,
      cell: ({ updatedAt }) => date(updatedAt),
      className: 'hidden whitespace-nowrap text-muted sm:table-cell',
    },
    {
      key: 'act',
      head: '',
      align: 'right',
      cell: (secret) => (
        <Button size="sm" tone="danger" disabledReason={whyNot(secret, 'delete')} onClick={() => setGoing(secret)}>
          {w.common.delete}
        </Button>
      ),
    },
  ];
  return (
    <Card
      title={w.settings.tabs.secrets}
      note={w.settings.secretsNote}
      className="mt-4"
      actions={
        <Button size="sm" icon={<PlusIcon />} disabledReason={denied} onClick={() => setSetting(true)}>
          {w.settings.setSecret}
        </Button>
      }
    >
      <Loaded
        query={secrets}
        loading={<SkeletonRows count={3} />}
        isEmpty={({ items }) => items.length === 0}
        empty={
          <Empty title={w.settings.noSecrets} hint={w.settings.noSecretsHint} command="fermi secret set HF_TOKEN" />
        }
      >
        {({ items }) => (
          <Table
            label={w.settings.tabs.secrets}
            columns={columns}
            rows={items}
            rowKey={({ name, owner }) => `${owner ?? ''} ${name}`}
          />
        )}
      </Loaded>
      {isSetting ? <SecretDialog onClose={() => setSetting(false)} /> : null}
      <Confirm
        open={going !== null}
        onClose={() => setGoing(null)}
        onConfirm={() => going && remove.mutate(going)}
        title={w.settings.secretDeleteTitle(going?.name ?? '')}
        text={w.settings.secretDeleteText}
        confirm={w.common.delete}
        cancel={w.common.cancel}
        isBusy={remove.isPending}
      />
    </Card>
  );
}
