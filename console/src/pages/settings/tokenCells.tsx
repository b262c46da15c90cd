import type { Token } from '~/api/types';
import { useNow } from '~/ui/now';
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
export function TokenEnd({ token: { expiresAt } }: { token: Token }) {
  const { w, date, duration } = useWords();
  const now = useNow();
  if (expiresAt == null) return w.settings.never;
  return (
    <span title={date(expiresAt)}>
      {expiresAt < now ? w.settings.expired : w.settings.expiresIn(duration(expiresAt - now))}
    </span>
  );
}
