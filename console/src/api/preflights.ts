import { queryOptions } from '@tanstack/react-query';
import { client, q } from './client';
import { keys } from './queries';
import type { Preflight } from './types';

/** While it goes on it is looked at again and again: its steps are no events. */
const LOOK_EVERY = 700;

export const isGoingOn = (preflight: Pick<Preflight, 'endedAt'>) => preflight.endedAt == null;

export const preflightQuery = (id: string) =>
  queryOptions({
    queryKey: [...keys.preflights, id],
    queryFn: ({ signal }) => q(client.GET('/api/v1/preflights/{id}', { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (state.data && isGoingOn(state.data) ? LOOK_EVERY : false),
  });

export const startPreflight = (body: { environments: string[]; path?: string }) =>
  q(client.POST('/api/v1/preflights', { body }));
