import { ROLES, type RoleName } from '~/api/access';
import { useWords } from '~/words';

/** A role as people call it. */
export function useRoleName() {
  const { w } = useWords();
  return (role: string) => (ROLES.some((known) => known === role) ? w.settings.roles[role as RoleName] : role);
}
