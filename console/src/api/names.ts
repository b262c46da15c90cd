import { useWords } from '~/words';
import { ROLES, type RoleName } from './access';

/** Users and roles as people call them. */
export function useNames() {
  const { w } = useWords();
  return {
    /** `token` and `local` are nobody's names. */
    userName: (user: string) => w.settings.names[user] ?? user,
    roleName: (role: string) => (ROLES.some((known) => known === role) ? w.settings.roles[role as RoleName] : role),
  };
}
