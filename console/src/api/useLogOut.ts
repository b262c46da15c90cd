import { useQueryClient } from '@tanstack/react-query';
import { toast } from '~/ui/Toast';
import { useWords } from '~/words';
import { logOut } from './session';

/** The way out: the session ends, and what is shown is asked for anew, which asks to log in. */
export function useLogOut() {
  const { w } = useWords();
  const client = useQueryClient();
  return async () => {
    if (await logOut()) toast('info', w.settings.loggedOut);
    void client.invalidateQueries();
  };
}
