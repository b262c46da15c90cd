import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { useWords } from '~/words';

/** Tells a screen reader which page has opened, names the window after it, and puts the focus on its heading. */
export function Announcer() {
  const { w } = useWords();
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname ?? state.location.pathname });
  const [said, setSaid] = useState('');
  const before = useRef<string | null>(null);
  useEffect(() => {
    // The page may be loading: its heading is waited for.
    let tries = 0;
    const look = setInterval(() => {
      const heading = document.querySelector<HTMLElement>('main h1');
      tries += 1;
      if (!heading && tries < 30) return;
      clearInterval(look);
      const title = heading?.textContent ?? w.shell.product;
      document.title = title === w.shell.product ? title : `${title} · ${w.shell.product}`;
      if (before.current !== null && before.current !== path) {
        setSaid(title);
        heading?.focus({ preventScroll: true });
      }
      before.current = path;
    }, 60);
    return () => clearInterval(look);
  }, [path, w]);
  return (
    <div aria-live="polite" className="sr-only">
      {said}
    </div>
  );
}
