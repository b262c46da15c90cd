import { useSyncExternalStore } from 'react';
import { currentLanguage } from '~/words';
import { PREFIX } from './base';
import { ApiError, refusal, unreachable } from './error';

type Credentials = { token: string } | { user: string; password: string };

const listeners = new Set<() => void>();
let isMissing = false;

function set(missing: boolean) {
  if (isMissing === missing) return;
  isMissing = missing;
  for (const listener of listeners) listener();
}

/** What was answered, or why it was not granted. */
async function call(method: 'POST' | 'DELETE', body?: unknown): Promise<unknown> {
  const response = await fetch(`${PREFIX}/api/v1/session`, {
    method,
    headers: {
      'Accept-Language': currentLanguage(),
      'Fermi-Front-End': 'console',
      ...(body ? { 'Content-Type': 'application/json' } : {}),
    },
    body: body ? JSON.stringify(body) : null,
  }).catch(() => null);
  if (!response) return unreachable();
  const answer: unknown = await response.json().catch(() => null);
  return response.ok ? answer : refusal(response, answer);
}

function isPage(found: unknown): found is string {
  return typeof found === 'string' && /^https?:\/\//.test(found);
}

/** Opens a session, which the browser keeps as a cookie that no script reads. Returns why the server did not take it, if so. */
export async function logIn(credentials: Credentials): Promise<ApiError | null> {
  const answer = await call('POST', credentials);
  if (answer instanceof ApiError) return answer;
  set(false);
  return null;
}

/** Where people log in with their company account; null where the server knows of none, or does not answer. */
export async function companyLogIn(): Promise<string | null> {
  const response = await fetch(`${PREFIX}/version`).catch(() => null);
  const answer: unknown = response?.ok ? await response.json().catch(() => null) : null;
  const found = (answer as { data?: { companyLogIn?: unknown } } | null)?.data?.companyLogIn;
  return isPage(found) ? found : null;
}

/**
 * Ends the session; the next refusal asks to log in again. Who has come with a company account goes on to where the session at the
 * company's service ends. Says whether the person stays here.
 */
export async function logOut(): Promise<boolean> {
  const answer = await call('DELETE');
  if (answer instanceof ApiError) return false;
  const next = (answer as { data?: { continueAt?: unknown } } | null)?.data?.continueAt;
  if (!isPage(next)) return true;
  window.location.assign(next);
  return false;
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
