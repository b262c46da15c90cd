import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failed } from '~/ui/Failed';
import { useWords } from '~/words';
import { ApiError } from './error';

/** What went wrong, as a person reads it: sentence, hint, a way to try again. */
export function Problem({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const { w } = useWords();
  const known = error instanceof ApiError ? error : null;
  if (known === null) return <Failed text={String(error)} onRetry={onRetry} />;
  return (
    <Failed
      text={known.isUnreachable ? w.common.unreachable : known.text}
      hint={known.isUnreachable ? w.common.unreachableHint : known.hint}
      requestId={known.requestId}
      onRetry={onRetry}
    />
  );
}

type LoadedProps<T> = {
  query: Pick<UseQueryResult<T>, 'data' | 'error' | 'isPending' | 'refetch'>;
  /** Shown while nothing is known yet; it has the size of what comes. */
  loading: ReactNode;
  /** Shown when the answer holds nothing. */
  empty?: ReactNode;
  isEmpty?: (data: T) => boolean;
  children: (data: T) => ReactNode;
};

/** The four states of a view: loading, error, empty, data. Data that is known stays when asking again fails. */
export function Loaded<T>({ query, loading, empty, isEmpty, children }: LoadedProps<T>) {
  if (query.data !== undefined) {
    return isEmpty?.(query.data) ? empty : children(query.data);
  }
  if (query.error) return <Problem error={query.error} onRetry={() => void query.refetch()} />;
  return loading;
}
