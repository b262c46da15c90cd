import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { tokensQuery } from '~/api/access';
import { Loaded } from '~/api/Loaded';
import { useNames } from '~/api/names';
import type { Token } from '~/api/types';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Empty } from '~/ui/Empty';
import { PlusIcon } from '~/ui/icons';
import { Badge } from '~/ui/Pill';
import { SkeletonRows } from '~/ui/Skeleton';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';
import { TokenDialog } from './TokenDialog';
import { TokenName, useEndColumns } from './tokenCells';
import { useRevoke } from './useRevoke';

/** One's own tokens and sessions; an administrator sees everyone's. */
export function Tokens() {
  const { w, date } = useWords();
  const { userName, roleName } = useNames();
  const tokens = useQuery(tokensQuery());
  const [isMaking, setMaking] = useState(false);
  const revoke = useRevoke();
  const endColumns = useEndColumns(revoke.ask);
  const may = ({ role, scope }: Token) => (scope === 'agent' ? w.settings.scopes.agent : roleName(role));
  const columns: Column<Token>[] = [
    {
      key: 'name',
      head: w.settings.tokenName,
      cell: (token) => <TokenName token={token} note={may(token)} />,
    },
    {
      key: 'user',
      head: w.settings.userName,
      cell: ({ user }) => userName(user),
      className: 'hidden sm:table-cell',
    },
    {
      key: 'may',
      head: w.settings.role,
      cell: (token) => <Badge>{may(token)}</Badge>,
      className: 'hidden sm:table-cell',
    },
    {
      key: 'created',
      head: w.common.createdAt,
      cell: ({ createdAt }) => date(createdAt),
      className: 'hidden whitespace-nowrap text-muted sm:table-cell',
    },
    ...endColumns,
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
      {revoke.dialog}
    </Card>
  );
}
