import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { tokensQuery } from '~/api/access';
import { client, q } from '~/api/client';
import { Loaded } from '~/api/Loaded';
import { keys } from '~/api/queries';
import type { Token } from '~/api/types';
import { useAct } from '~/api/useAct';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Confirm } from '~/ui/Confirm';
import { Empty } from '~/ui/Empty';
import { PlusIcon } from '~/ui/icons';
import { useNow } from '~/ui/now';
import { Badge } from '~/ui/Pill';
import { SkeletonRows } from '~/ui/Skeleton';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';
import { useRoleName } from './roles';
import { nameOf } from './SessionCard';
import { TokenDialog } from './TokenDialog';

/** One's own tokens and sessions; an administrator sees everyone's. */
export function Tokens() {
  const { w, date, duration } = useWords();
  const now = useNow();
  const roleName = useRoleName();
  const tokens = useQuery(tokensQuery());
  const [isMaking, setMaking] = useState(false);
  const [ending, setEnding] = useState<Token | null>(null);
  const revoke = useAct({
    call: ({ id }: Token) => q(client.DELETE('/api/v1/tokens/{id}', { params: { path: { id } } })),
    changes: [keys.tokens],
    done: (_, { name, id }) => w.settings.tokenRevoked(name || id),
    onDone: () => setEnding(null),
  });
  const columns: Column<Token>[] = [
    {
      key: 'name',
      head: w.settings.tokenName,
      cell: ({ name, id, isSession }) => (
        <span className="flex max-w-72 items-center gap-2">
          <span className="truncate font-medium" title={`${name} ${id}`}>
            {isSession ? w.settings.browser : name || id}
          </span>
          <span className="font-mono text-2xs text-faint">{id}</span>
        </span>
      ),
    },
    { key: 'user', head: w.settings.userName, cell: ({ user }) => nameOf(user, w.settings.names) },
    {
      key: 'may',
      head: w.settings.role,
      cell: ({ role, scope }) => <Badge>{scope === 'agent' ? w.settings.scopes.agent : roleName(role)}</Badge>,
    },
    {
      key: 'created',
      head: w.common.createdAt,
      cell: ({ createdAt }) => date(createdAt),
      className: 'whitespace-nowrap text-muted',
    },
    {
      key: 'ends',
      head: w.settings.expires,
      cell: ({ expiresAt }) =>
        expiresAt == null ? (
          w.settings.never
        ) : (
          <span title={date(expiresAt)}>
            {expiresAt < now ? w.settings.expired : w.settings.expiresIn(duration(expiresAt - now))}
          </span>
        ),
      className: 'whitespace-nowrap text-muted',
    },
    {
      key: 'act',
      head: '',
      align: 'right',
      cell: (token) => (
        <Button size="sm" tone="danger" onClick={() => setEnding(token)}>
          {token.isSession ? w.settings.endSession : w.settings.revoke}
        </Button>
      ),
    },
  ];
  return (
    <Card
      title={w.settings.tabs.tokens}
      note={w.settings.tokensNote}
      className="mt-4"
      actions={
        <Button size="sm" icon={<PlusIcon />} onClick={() => setMaking(true)}>
          {w.settings.makeToken}
        </Button>
      }
    >
      <Loaded
        query={tokens}
        loading={<SkeletonRows count={3} />}
        isEmpty={({ items }) => items.length === 0}
        empty={
          <Empty
            title={w.settings.noTokens}
            hint={w.settings.noTokensHint}
            command="fermi token create nightly --role viewer --expires 30d"
          />
        }
      >
        {({ items }) => <Table label={w.settings.tabs.tokens} columns={columns} rows={items} rowKey={({ id }) => id} />}
      </Loaded>
      <p className="border-t border-line px-4 py-3 text-xs text-muted">{w.settings.accessFile}</p>
      {isMaking ? <TokenDialog onClose={() => setMaking(false)} /> : null}
      <Confirm
        open={ending !== null}
        onClose={() => setEnding(null)}
        onConfirm={() => ending && revoke.mutate(ending)}
        title={w.settings.revokeTitle(ending?.name || ending?.id || '')}
        text={w.settings.revokeText}
        confirm={ending?.isSession ? w.settings.endSession : w.settings.revoke}
        cancel={w.common.cancel}
        isBusy={revoke.isPending}
      />
    </Card>
  );
}
