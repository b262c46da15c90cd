import createClient, { type Middleware } from 'openapi-fetch';
import { currentLanguage } from '~/words';
import { PREFIX } from './base';
import { refusal, unreachable } from './error';
import type { paths } from './schema';
import { askToLogIn } from './session';

/** Headers of every request, also of those that are not made by the client below. */
export function headers(extra: Record<string, string> = {}): Record<string, string> {
  return {
    'Accept-Language': currentLanguage(),
    'Fermi-Front-End': 'console',
    ...extra,
  };
}

/** Every wish has a key of its own, so that a repeated one is granted once. */
export function wishKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const dress: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(headers())) request.headers.set(name, value);
    if (request.method === 'POST' && !request.headers.has('Idempotency-Key')) {
      request.headers.set('Idempotency-Key', wishKey());
    }
    return request;
  },
};

export const client = createClient<paths>({ baseUrl: PREFIX || globalThis.location?.origin || '' });
client.use(dress);

type Called<E> = Promise<{ data?: E; error?: unknown; response: Response }>;

/** Opens the envelope: its data, or an `ApiError`. Who is not known is asked to log in once, for all. */
export async function q<E extends { data: unknown }>(call: Called<E>): Promise<E['data']> {
  const { data, error, response } = await call.catch((reason: unknown) => {
    if (reason instanceof DOMException && reason.name === 'AbortError') throw reason;
    throw unreachable();
  });
  if (response.status === 401) askToLogIn();
  if (!response.ok || data === undefined) throw refusal(response, error);
  return data.data;
}

/** The address of an API path, for links and downloads. */
export function apiUrl(path: string): string {
  return `${PREFIX}${path}`;
}

/** A call by its path, for what the document of the API does not hold yet. */
export async function ask<T>(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<T> {
  const extra: Record<string, string> = body === undefined ? {} : { 'Content-Type': 'application/json' };
  if (method === 'POST') extra['Idempotency-Key'] = wishKey();
  const sent = fetch(apiUrl(path), {
    method,
    headers: headers(extra),
    body: body === undefined ? null : JSON.stringify(body),
  });
  const call = sent.then(async (response) => {
    const answer: unknown = await response.json().catch(() => undefined);
    return response.ok ? { data: answer as { data: T }, response } : { error: answer, response };
  });
  return q<{ data: T }>(call);
}
