import { useSyncExternalStore } from 'react';

export type Theme = 'light' | 'dark' | 'system';

const NAME = 'fermi.theme';
const listeners = new Set<() => void>();
const system = () => (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');

function kept(): Theme {
  try {
    const value = localStorage.getItem(NAME);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    return 'system';
  }
}

let theme: Theme = kept();

function show() {
  document.documentElement.dataset.theme = theme === 'system' ? system() : theme;
  for (const listener of listeners) listener();
  // Canvases read their colours from the tokens: they are told to read again.
  window.dispatchEvent(new CustomEvent('fermi-theme'));
}

export function setTheme(next: Theme) {
  theme = next;
  try {
    localStorage.setItem(NAME, next);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  show();
}

/** Light becomes dark and dark light, whatever the system says. */
export function flipTheme() {
  setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
}

export function followSystemTheme() {
  const query = matchMedia('(prefers-color-scheme: dark)');
  const changed = () => theme === 'system' && show();
  query.addEventListener('change', changed);
  return () => query.removeEventListener('change', changed);
}

export function useTheme(): Theme {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => theme,
  );
}
