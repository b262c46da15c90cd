import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { sessionQuery } from '~/api/access';
import { useNames } from '~/api/names';
import { useLogOut } from '~/api/useLogOut';
import { Button } from '~/ui/Button';
import { PersonIcon } from '~/ui/icons';
import { Menu, MenuItem, MenuNote, MenuSeparator } from '~/ui/Menu';
import { useWords } from '~/words';

/** Who is logged in and as what, and the way out. */
export function SessionMenu() {
  const { w } = useWords();
  const { userName, roleName } = useNames();
  const { data: session } = useQuery(sessionQuery());
  const logOut = useLogOut();
  const navigate = useNavigate();
  if (!session) return null;
  const { user, role, isOpen } = session;
  const who = userName(user);
  return (
    <Menu
      trigger={
        <Button
          tone="ghost"
          aria-label={`${w.shell.loggedInAs} ${who} · ${roleName(role)}`}
          title={`${who} · ${roleName(role)}`}
          className="!px-2"
        >
          <PersonIcon />
          <span className="hidden max-w-28 truncate text-xs md:inline">{who}</span>
        </Button>
      }
    >
      <MenuNote>
        <span className="block max-w-56 truncate font-medium text-text">{who}</span>
        <span className="block max-w-56">{isOpen ? w.settings.isOpen : roleName(role)}</span>
      </MenuNote>
      <MenuSeparator />
      <MenuItem onSelect={() => void navigate({ to: '/settings' })}>{w.shell.settings}</MenuItem>
      {isOpen ? null : (
        <>
          <MenuItem onSelect={() => void navigate({ to: '/settings', search: { tab: 'tokens' } })}>
            {w.settings.tabs.tokens}
          </MenuItem>
          <MenuItem onSelect={() => void logOut()}>{w.settings.logOut}</MenuItem>
        </>
      )}
    </Menu>
  );
}
