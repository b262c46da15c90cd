import { Link } from '@tanstack/react-router';
import { BASE } from '~/api/base';
import { useLiveState } from '~/live/Live';
import { IconButton } from '~/ui/Button';
import { classes } from '~/ui/classes';
import { MenuIcon, MoonIcon, SearchIcon, SunIcon } from '~/ui/icons';
import { Menu, MenuItem } from '~/ui/Menu';
import { setTheme, useTheme } from '~/ui/theme';
import { speak, useWords } from '~/words';
import { SessionMenu } from './SessionMenu';

const DOTS = { live: 'bg-good-fill', waiting: 'bg-warn-fill animate-pulse', mute: 'bg-warn-fill' };

export function Header({ onMenu, onPalette }: { onMenu: () => void; onPalette: () => void }) {
  const { w, language } = useWords();
  const state = useLiveState();
  const theme = useTheme();
  const isEnglish = language === 'en';
  return (
    <header className="sticky top-0 z-30 flex h-13 items-center gap-2 border-b border-line bg-surface px-3">
      <IconButton label={w.shell.menu} onClick={onMenu} className="lg:hidden">
        <MenuIcon />
      </IconButton>
      <Link to="/" className="flex items-center gap-2.5 rounded-md px-2 font-semibold">
        <img src={`${BASE}icon.svg`} alt="" width="22" height="22" />
        {w.shell.product}
      </Link>
      <button
        type="button"
        onClick={onPalette}
        title={w.shell.palette}
        className="mx-auto hidden h-8 w-full max-w-90 items-center gap-2 rounded-md border border-line bg-sunken px-3 text-sm text-muted transition-colors hover:border-line-strong sm:flex"
      >
        <SearchIcon />
        <span className="flex-1 truncate text-left">{w.shell.paletteHint}</span>
        <kbd className="rounded border border-line bg-surface px-1.5 font-sans text-2xs">Ctrl K</kbd>
      </button>
      <div className="ml-auto flex items-center gap-1 sm:ml-0">
        <IconButton label={w.shell.palette} onClick={onPalette} className="sm:hidden">
          <SearchIcon />
        </IconButton>
        <span role="status" className="mr-1 inline-flex items-center gap-1.5 px-1 text-xs text-muted">
          <span aria-hidden="true" className={classes('size-2 rounded-full', DOTS[state])} />
          <span className="hidden sm:inline">{w.shell[state]}</span>
          <span className="sr-only sm:hidden">{w.shell[state]}</span>
        </span>
        <IconButton
          label={`中/EN ${w.shell.switchLanguage}`}
          onClick={() => speak(isEnglish ? 'zh-CN' : 'en')}
          className="text-xs"
        >
          <span>
            <span className={classes(!isEnglish && 'text-text')}>中</span>
            <span className="text-faint">/</span>
            <span className={classes(isEnglish && 'text-text')}>EN</span>
          </span>
        </IconButton>
        <Menu
          trigger={
            <IconButton label={w.shell.theme}>
              <SunIcon className="in-data-[theme=dark]:hidden" />
              <MoonIcon className="hidden in-data-[theme=dark]:block" />
            </IconButton>
          }
        >
          {(['light', 'dark', 'system'] as const).map((choice) => (
            <MenuItem key={choice} isChecked={theme === choice} onSelect={() => setTheme(choice)}>
              {w.shell[choice]}
            </MenuItem>
          ))}
        </Menu>
        <SessionMenu />
      </div>
    </header>
  );
}
