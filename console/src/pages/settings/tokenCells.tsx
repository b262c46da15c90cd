import type { Token } from '~/api/types';
import { useNow } from '~/ui/now';
import { useWords } from '~/words';

/** What a token is for, and its id. */
export function TokenName({ token: { name, id, isSession } }: { token: Token }) {
  const { w } = useWords();
  return (
    <span className="flex max-w-72 items-center gap-2">
      <span className="truncate font-medium" title={`${name} ${id}`}>
        {isSession ? w.settings.browser : name || id}
      </span>
      <span className="font-mono text-2xs text-faint">{id}</span>
    </span>
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
