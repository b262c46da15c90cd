import { useQuery } from '@tanstack/react-query';
import { useWords } from '~/words';
import { sessionQuery } from './access';
import type { Action, AllowedAction, Deed } from './types';

type Subject = { allowedActions?: readonly AllowedAction[] | undefined };

/** Why this may not be done with this thing, as the server says; null where it may, and where nothing is said of it. */
export function useWhyNot(): (subject: Subject, action: Action) => string | null {
  const { tell } = useWords();
  return (subject, action) => {
    const known = subject.allowedActions?.find((one) => one.action === action);
    return known && !known.allowed ? tell(known.reason) || action : null;
  };
}

/** Why such a thing is not for who is logged in, whatever it is done to; null where it is, and until that is known. */
export function useDenied(deed: Deed): string | null {
  const { tell } = useWords();
  const session = useQuery(sessionQuery());
  return tell(session.data?.denied?.find((one) => one.deed === deed)?.reason) || null;
}
