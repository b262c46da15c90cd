import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { sessionQuery, tokensQuery } from '~/api/access';
import { JoinCommand } from '~/api/JoinCommand';
import { JoinDialog } from '~/api/JoinDialog';
import { Loaded } from '~/api/Loaded';
import { useNames } from '~/api/names';
import type { Token } from '~/api/types';
import { useDenied } from '~/api/useWhyNot';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Empty } from '~/ui/Empty';
import { PlusIcon } from '~/ui/icons';
import { useNow } from '~/ui/now';
import { Badge } from '~/ui/Pill';
import { SkeletonRows } from '~/ui/Skeleton';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';
import { TokenName, useEndColumns } from './tokenCells';
import { useRevoke } from './useRevoke';

/** Commands with which machines may still join. */
export function Join() {
  const { w, number } = useWords();
  const now = useNow();
  const { userName } = useNames();
  const tokens = useQuery(tokensQuery());
  const session = useQuery(sessionQuery());
  const [isMaking, setMaking] = useState(false);
  const denied = useDenied('join');
  const revoke = useRevoke();
  const endColumns = useEndColumns(revoke.ask);
  const isUsable = ({ scope, usesLeft, expiresAt }: Token) =>
    scope === 'agent' && usesLeft !== 0 && (expiresAt == null || expiresAt > now);
  const left = ({ usesLeft }: Token) =>
    usesLeft == null ? w.settings.joinAnyNumber : w.settings.joinLeft(number(usesLeft));
  const columns: Column<Token>[] = [
    {
      key: 'name',
      head: w.settings.tokenName,
      cell: (token) => <TokenName token={token} note={left(token)} />,
    },
    {
      key: 'left',
      head: w.settings.joinOpen,
      cell: left,
      className: 'hidden whitespace-nowrap sm:table-cell',
    },
    {
      key: 'place',
      head: w.settings.joinPlace,
      cell: ({ zone, labels }) => (
        <span className="flex flex-wrap gap-1">
          {zone ? <Badge>{zone}</Badge> : null}
          {Object.entries(labels ?? {}).map(([key, value]) => (
            <Badge key={key}>{`${key}=${value}`}</Badge>
          ))}
        </span>
      ),
      className: 'hidden sm:table-cell',
    },
    {
      key: 'user',
      head: w.settings.userName,
      cell: ({ user }) => userName(user),
      className: 'hidden text-muted sm:table-cell',
    },
    ...endColumns,
  ];
  const isOpen = session.data?.isOpen ?? false;
  return (
    <Card
      title={w.settings.tabs.join}
      note={w.settings.joinNote}
      className="mt-4"
      actions={
        <Button size="sm" icon={<PlusIcon />} disabledReason={denied} onClick={() => setMaking(true)}>
          {w.environments.joinMake}
        </Button>
      }
    >
      <Loaded
        query={tokens}
        loading={<SkeletonRows count={3} />}
        isEmpty={({ items }) => !items.some(isUsable)}
        empty={
          <Empty
            title={w.settings.noJoins}
            hint={isOpen ? w.settings.noJoinsOpen : w.settings.noJoinsHint}
            command={isOpen ? <JoinCommand /> : 'fermi env join --uses 8 --expires 2h'}
          />
        }
      >
        {({ items }) => (
          <Table label={w.settings.tabs.join} columns={columns} rows={items.filter(isUsable)} rowKey={({ id }) => id} />
        )}
      </Loaded>
      {isMaking ? <JoinDialog onClose={() => setMaking(false)} /> : null}
      {revoke.dialog}
    </Card>
  );
}
