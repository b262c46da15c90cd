import { useSyncExternalStore } from 'react';

export type Language = 'zh-CN' | 'en';

const NAME = 'fermi.language';
const listeners = new Set<() => void>();
const root = typeof document === 'undefined' ? null : document.documentElement;
// theme.js has set it before the first paint.
let language: Language = root?.lang === 'en' ? 'en' : 'zh-CN';

export function currentLanguage(): Language {
  return language;
}

export function speak(next: Language) {
  language = next;
  if (root) root.lang = next;
  try {
    localStorage.setItem(NAME, next);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  for (const listener of listeners) listener();
}

export function useLanguage(): Language {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    currentLanguage,
    currentLanguage,
  );
}
