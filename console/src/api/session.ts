import { useSyncExternalStore } from 'react';
import { currentLanguage } from '~/words';
import { PREFIX } from './base';
import { ApiError, refusal } from './error';

export type Credentials = { token: string } | { user: string; password: string };

const listeners = new Set<() => void>();
let isMissing = false;

function set(missing: boolean) {
  if (isMissing === missing) return;
  isMissing = missing;
  for (const listener of listeners) listener();
}

/** Null where it was granted. */
async function call(method: 'POST' | 'DELETE', body?: unknown): Promise<ApiError | null> {
  const response = await fetch(`${PREFIX}/api/v1/session`, {
    method,
    headers: {
      'Accept-Language': currentLanguage(),
      'Fermi-Front-End': 'console',
      ...(body ? { 'Content-Type': 'application/json' } : {}),
    },
    body: body ? JSON.stringify(body) : null,
  }).catch(() => null);
  if (!response) return new ApiError(0, 'unreachable', '', null, null, null);
  return response.ok ? null : refusal(response, await response.json().catch(() => null));
}

/** Opens a session, which the browser keeps as a cookie that no script reads. Returns why the server did not take it, if so. */
export async function logIn(credentials: Credentials): Promise<ApiError | null> {
  const refused = await call('POST', credentials);
  if (!refused) set(false);
  return refused;
}

/** Where people log in with their company account; null where the server knows of none, or does not answer. */
export async function companyLogIn(): Promise<string | null> {
  const response = await fetch(`${PREFIX}/version`).catch(() => null);
  const answer: unknown = response?.ok ? await response.json().catch(() => null) : null;
  const found = (answer as { data?: { companyLogIn?: unknown } } | null)?.data?.companyLogIn;
  return typeof found === 'string' && /^https?:\/\//.test(found) ? found : null;
}

/** Ends the session; the next refusal asks to log in again. */
export async function logOut(): Promise<boolean> {
  return (await call('DELETE')) === null;
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
