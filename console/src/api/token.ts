import { useSyncExternalStore } from 'react';

const NAME = 'fermi.token';
const listeners = new Set<() => void>();
let isMissing = false;

function tell() {
  for (const listener of listeners) listener();
}

export function token(): string | null {
  return sessionStorage.getItem(NAME);
}

/** Keeps a token for this browser session. */
export function keepToken(value: string) {
  sessionStorage.setItem(NAME, value.trim());
  isMissing = false;
  tell();
}

/** The server has asked for a token, or refused the one it was shown. */
export function askForToken() {
  if (isMissing) return;
  isMissing = true;
  tell();
}

/** Whether a person has to give a token before anything works. */
export function useTokenMissing(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isMissing,
  );
}

/** Forgets the token; the next refusal asks for it again. */
export function forgetToken() {
  sessionStorage.removeItem(NAME);
  tell();
}
