import type { Token } from '~/api/types';
import { Button } from '~/ui/Button';
import { useNow } from '~/ui/now';
import type { Column } from '~/ui/Table';
import { useWords } from '~/words';

/** What a token is for, and its id; on a narrow page also what stands in other columns of a wide one. */
export function TokenName({ token, note }: { token: Token; note: string }) {
  const { w } = useWords();
  const { name, id, isSession } = token;
  return (
    <div className="py-1.5">
      <span className="flex max-w-72 items-center gap-2">
        <span className="truncate font-medium" title={`${name} ${id}`}>
          {isSession ? w.settings.browser : name || id}
        </span>
        <span className="font-mono text-2xs text-faint">{id}</span>
      </span>
      <span className="block text-xs text-muted sm:hidden">
        {note} · <TokenEnd token={token} />
      </span>
    </div>
  );
}

/** When a token ends. */
function TokenEnd({ token: { expiresAt } }: { token: Token }) {
  const { w, date, duration } = useWords();
  const now = useNow();
  if (expiresAt == null) return w.settings.never;
  return (
    <span title={date(expiresAt)}>
      {expiresAt < now ? w.settings.expired : w.settings.expiresIn(duration(expiresAt - now))}
    </span>
  );
}

/** The last columns of a list of tokens: when each ends, and how to end it now. */
export function useEndColumns(revoke: (token: Token) => void): Column<Token>[] {
  const { w } = useWords();
  return [
    {
      key: 'ends',
      head: w.settings.expires,
      cell: (token) => <TokenEnd token={token} />,
      className: 'hidden whitespace-nowrap text-muted sm:table-cell',
    },
    {
      key: 'act',
      head: '',
      align: 'right',
      cell: (token) => (
        <Button size="sm" tone="danger" onClick={() => revoke(token)}>
          {token.isSession ? w.settings.endSession : w.settings.revoke}
        </Button>
      ),
    },
  ];
}
