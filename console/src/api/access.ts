import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client, q } from './client';
import { keys } from './queries';

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
