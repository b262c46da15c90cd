import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { DESTINATIONS } from './navigation';

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

/** `/` search, `?` help, Ctrl/Cmd+K palette, `g` and a letter to go to a page. */
export function useKeys({ onPalette, onHelp }: { onPalette: () => void; onHelp: () => void }) {
  const navigate = useNavigate();
  const handlers = useRef({ onPalette, onHelp });
  handlers.current = { onPalette, onHelp };
  useEffect(() => {
    let pressedG = Number.NEGATIVE_INFINITY;
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        handlers.current.onPalette();
        return;
      }
      const isOpen = document.querySelector('[role="dialog"]:not([aria-modal="false"])') !== null;
      if (event.ctrlKey || event.metaKey || event.altKey || isOpen || isTyping(event.target)) return;
      if (event.key === '?') handlers.current.onHelp();
      else if (event.key === '/') {
        const field = document.querySelector<HTMLElement>('[data-search]');
        if (!field) return;
        event.preventDefault();
        field.focus();
      } else if (event.key === 'g' && event.timeStamp - pressedG > 1_000) pressedG = event.timeStamp;
      else if (event.timeStamp - pressedG < 1_000) {
        pressedG = 0;
        const page = DESTINATIONS.find((destination) => destination.key === event.key);
        if (page) void navigate({ to: page.to });
      }
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [navigate]);
}
