import { useSyncExternalStore } from 'react';
import { PREFIX } from './base';

export type Credentials = { token: string } | { user: string; password: string };

const listeners = new Set<() => void>();
let isMissing = false;

function set(missing: boolean) {
  if (isMissing === missing) return;
  isMissing = missing;
  for (const listener of listeners) listener();
}

async function call(method: 'POST' | 'DELETE', body?: unknown): Promise<boolean> {
  const response = await fetch(`${PREFIX}/api/v1/session`, {
    method,
    headers: { 'Fermi-Front-End': 'console', ...(body ? { 'Content-Type': 'application/json' } : {}) },
    body: body ? JSON.stringify(body) : null,
  }).catch(() => null);
  return response?.ok ?? false;
}

/** Opens a session, which the browser keeps as a cookie that no script reads. Says whether the server took it. */
export async function logIn(credentials: Credentials): Promise<boolean> {
  const isTaken = await call('POST', credentials);
  if (isTaken) set(false);
  return isTaken;
}

/** Where people log in with their company account; null where the server knows of none, or does not answer. */
export async function companyLogIn(): Promise<string | null> {
  const response = await fetch(`${PREFIX}/version`).catch(() => null);
  const answer: unknown = response?.ok ? await response.json().catch(() => null) : null;
  const found = (answer as { data?: { companyLogIn?: unknown } } | null)?.data?.companyLogIn;
  return typeof found === 'string' && /^https?:\/\//.test(found) ? found : null;
}

/** Ends the session; the next refusal asks to log in again. */
export function logOut(): Promise<boolean> {
  return call('DELETE');
}

/** The address that a server prints opens the console: its token becomes a session and leaves the address. */
export async function openByAddress(): Promise<void> {
  const found = /^#token=(.+)$/.exec(window.location.hash);
  if (!found?.[1]) return;
  window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search);
  await logIn({ token: decodeURIComponent(found[1]) });
}

/** The server has asked who this is. */
export function askToLogIn() {
  set(true);
}

/** Whether a person has to log in before anything works. */
export function useLogInMissing(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isMissing,
  );
}
