import { Dialog } from '@base-ui/react/dialog';
import { Outlet } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { useWords } from '~/words';
import { Announcer } from './Announcer';
import { ConnectionBanner } from './ConnectionBanner';
import { Header } from './Header';
import { useKeys } from './keys';
import { LogInDialog } from './LogInDialog';
import { Shortcuts } from './Shortcuts';
import { Sidebar } from './Sidebar';

const Palette = lazy(() => import('./Palette').then((module) => ({ default: module.Palette })));

type Opened = 'palette' | 'help' | 'menu' | null;

export function Layout() {
  const { w } = useWords();
  const [opened, setOpened] = useState<Opened>(null);
  useKeys({ onPalette: () => setOpened('palette'), onHelp: () => setOpened('help') });
  const close = () => setOpened(null);
  return (
    <>
      <a
        href="#main"
        className="sr-only z-60 rounded-md bg-accent px-3 py-2 text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        {w.shell.skip}
      </a>
      <Header onMenu={() => setOpened('menu')} onPalette={() => setOpened('palette')} />
      <ConnectionBanner />
      <div className="flex">
        <Sidebar className="sticky top-13 hidden h-[calc(100dvh-52px)] w-54 shrink-0 border-r border-line bg-surface lg:flex" />
        <main id="main" tabIndex={-1} className="mx-auto min-w-0 max-w-400 flex-1 px-4 py-5 sm:px-6">
          <Outlet />
        </main>
      </div>
      <Dialog.Root open={opened === 'menu'} onOpenChange={close}>
        <Dialog.Portal>
          <Dialog.Backdrop className="fade fixed inset-0 z-40 bg-overlay" />
          <Dialog.Popup
            aria-label={w.shell.menu}
            className="fade fixed inset-y-0 left-0 z-50 w-64 border-r border-line bg-raised"
          >
            <Sidebar onNavigate={close} className="h-full" />
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
      {opened === 'palette' ? (
        <Suspense>
          <Palette onClose={close} onHelp={() => setOpened('help')} />
        </Suspense>
      ) : null}
      <Shortcuts open={opened === 'help'} onOpenChange={close} />
      <LogInDialog />
      <Announcer />
    </>
  );
}
