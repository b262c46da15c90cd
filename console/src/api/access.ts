import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { ask, client, q } from './client';
import { keys } from './queries';
import type { AllowedAction, Page } from './types';

export const ROLES = ['viewer', 'member', 'operator', 'administrator'] as const;
export type RoleName = (typeof ROLES)[number];

/** Who is logged in. */
export const sessionQuery = () =>
  queryOptions({
    queryKey: keys.session,
    queryFn: ({ signal }) => q(client.GET('/api/v1/session', { signal })),
    staleTime: 60_000,
  });

export const usersQuery = () =>
  queryOptions({
    queryKey: keys.users,
    queryFn: ({ signal }) => q(client.GET('/api/v1/users', { signal })),
  });

export const tokensQuery = () =>
  queryOptions({
    queryKey: keys.tokens,
    queryFn: ({ signal }) => q(client.GET('/api/v1/tokens', { signal })),
  });

export const webhooksQuery = () =>
  queryOptions({
    queryKey: keys.webhooks,
    queryFn: ({ signal }) => q(client.GET('/api/v1/webhooks', { signal })),
  });

/** The last events that somebody asked for; `user` and `kind` narrow them. */
export const auditQuery = (
  { user, kind }: { user?: string | undefined; kind?: string | undefined },
  pageSize: number,
) =>
  queryOptions({
    queryKey: [...keys.events, 'audit', user ?? '*', kind ?? '', pageSize],
    queryFn: ({ signal }) => {
      const query = { user: user || '*', newest: true, pageSize, ...(kind ? { kind } : {}) };
      return q(client.GET('/api/v1/events', { params: { query }, signal }));
    },
    placeholderData: keepPreviousData,
  });

/** A secret, but for its value. */
export type Secret = {
  name: string;
  owner?: string | null;
  shared: boolean;
  updatedAt: number;
  allowedActions: AllowedAction[];
};

export const secretsQuery = () =>
  queryOptions({ queryKey: keys.secrets, queryFn: () => ask<Page<Secret>>('GET', '/api/v1/secrets') });

export const setSecret = (secret: { name: string; value: string; shared: boolean }) =>
  ask<Secret>('POST', '/api/v1/secrets', secret);

export function deleteSecret({ name, owner, shared }: Secret) {
  const query = new URLSearchParams(shared || !owner ? { shared: 'true' } : { owner });
  return ask<unknown>('DELETE', `/api/v1/secrets/${encodeURIComponent(name)}?${query}`);
}
