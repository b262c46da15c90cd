import { infiniteQueryOptions, keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query';
import { client, q } from './client';
import type { CreateRequest, Task } from './types';

/** Keys of the cache; the live table writes by the same ones. */
export const keys = {
  overview: ['overview'] as const,
  tasks: ['tasks'] as const,
  /** Rows of lists; `keys.tasks` brings those in sight up to date. */
  taskPages: ['task pages'] as const,
  task: (id: string) => ['task', id] as const,
  environments: ['environments'] as const,
  environment: (id: string) => ['environment', id] as const,
  events: ['events'] as const,
  groups: ['groups'] as const,
  preflights: ['preflights'] as const,
  datasets: ['datasets'] as const,
  models: ['models'] as const,
  frameworks: ['frameworks'] as const,
  server: ['server'] as const,
  session: ['session'] as const,
  users: ['users'] as const,
  tokens: ['tokens'] as const,
  secrets: ['secrets'] as const,
  webhooks: ['webhooks'] as const,
};

/** Looks at everything again that is shown. */
export const lookAgain = (client: QueryClient) =>
  client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== keys.taskPages[0] });

/** Samples of machines and progress are no events: they are looked at again and again while something is shown. */
export const OFTEN = 3_000;

/** A task of more ranks than these is asked for less of each, and less often. */
const LARGE = 512;
export const isLarge = ({ worldSize }: Pick<Task, 'worldSize'>) => worldSize > LARGE;

/** How often it is asked what ranks of a task do: not at all once it is over. */
export const ranksPace = (task: Pick<Task, 'worldSize' | 'endedAt'>): number | false =>
  task.endedAt != null ? false : isLarge(task) ? 5 * OFTEN : OFTEN;

export const overviewQuery = () =>
  queryOptions({
    queryKey: keys.overview,
    queryFn: ({ signal }) => q(client.GET('/api/v1/overview', { signal })),
    refetchInterval: 15_000,
  });

export type ListParams = { filter?: string; orderBy?: string };

export const environmentsQuery = (params: ListParams = {}) =>
  queryOptions({
    queryKey: [...keys.environments, params],
    queryFn: ({ signal }) =>
      q(client.GET('/api/v1/environments', { params: { query: { pageSize: 1000, ...params } }, signal })),
    placeholderData: keepPreviousData,
    // Many of them are asked for less often: a thousand are a megabyte.
    refetchInterval: (query) => ((query.state.data?.items.length ?? 0) > 200 ? 5 * OFTEN : OFTEN),
  });

export const environmentMetricsQuery = (id: string) =>
  queryOptions({
    queryKey: [...keys.environment(id), 'metrics'],
    queryFn: ({ signal }) => q(client.GET('/api/v1/environments/{id}/metrics', { params: { path: { id } }, signal })),
    refetchInterval: OFTEN,
  });

export const taskQuery = (id: string) =>
  queryOptions({
    queryKey: keys.task(id),
    queryFn: ({ signal }) => q(client.GET('/api/v1/training-tasks/{id}', { params: { path: { id } }, signal })),
    refetchInterval: (query) => (query.state.data && query.state.data.endedAt == null ? OFTEN : false),
  });

/** What a task would be; nothing is stored. */
export const previewQuery = (body: CreateRequest | null) =>
  queryOptions({
    queryKey: ['preview', body],
    enabled: body !== null,
    queryFn: ({ signal }) => q(client.POST('/api/v1/training-tasks/preview', { body: body ?? {}, signal })),
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 15_000,
  });

export const ranksQuery = (id: string, attempt?: number) =>
  queryOptions({
    queryKey: [...keys.task(id), 'ranks', attempt ?? null],
    queryFn: ({ signal }) =>
      q(
        client.GET('/api/v1/training-tasks/{id}/ranks', {
          params: { path: { id }, query: attempt === undefined ? {} : { attempt } },
          signal,
        }),
      ),
  });

export const launchQuery = (id: string) =>
  queryOptions({
    queryKey: [...keys.task(id), 'launch'],
    queryFn: ({ signal }) => q(client.GET('/api/v1/training-tasks/{id}/launch', { params: { path: { id } }, signal })),
  });

/** So long after the end of a task its nodes may still send what they hold of it. */
const STRAGGLE = 60_000;

/** How often it is asked what a rank was started with: until that is there of the wanted attempt, as long as it may come. */
export function startPace(
  { attempt: newest, endedAt }: Pick<Task, 'attempt' | 'endedAt'>,
  wanted: number | undefined,
  kept: number | undefined,
  now: number,
): number | false {
  const isThere = kept !== undefined && kept >= (wanted ?? newest);
  const isComing = (wanted ?? newest) >= newest && (endedAt == null || now - endedAt < STRAGGLE);
  return isThere || !isComing ? false : OFTEN;
}

type Starting = Pick<Task, 'id' | 'attempt' | 'endedAt'>;

/** What a rank was started with, in the newest attempt that is kept unless one is named. Of one attempt it never changes. */
export const startQuery = ({ id, ...task }: Starting, rank: number, attempt: number | undefined) =>
  queryOptions({
    queryKey: [...keys.task(id), 'start', rank, attempt ?? null],
    queryFn: ({ signal }) =>
      q(
        client.GET('/api/v1/training-tasks/{id}/start', {
          params: { path: { id }, query: attempt === undefined ? { rank } : { rank, attempt } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => startPace(task, attempt, query.state.data?.attempt, Date.now()),
  });

export const explainQuery = (id: string) =>
  queryOptions({
    queryKey: [...keys.task(id), 'explain'],
    queryFn: ({ signal }) => q(client.GET('/api/v1/training-tasks/{id}/explain', { params: { path: { id } }, signal })),
  });

type MetricsParams = { series?: string; maxPoints?: number; rank?: number; attempt?: number };

export const metricsQuery = (id: string, params: MetricsParams = {}) =>
  queryOptions({
    queryKey: [...keys.task(id), 'metrics', params],
    queryFn: ({ signal }) =>
      q(client.GET('/api/v1/training-tasks/{id}/metrics', { params: { path: { id }, query: params }, signal })),
    placeholderData: keepPreviousData,
  });

export const taskEventsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: [...keys.task(id), 'events'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ signal, pageParam }) =>
      q(
        client.GET('/api/v1/training-tasks/{id}/events', {
          params: { path: { id }, query: { pageSize: 500, ...(pageParam ? { pageToken: pageParam } : {}) } },
          signal,
        }),
      ),
    getNextPageParam: (last) => last.nextPageToken ?? undefined,
  });

export const datasetsQuery = (filter?: string) =>
  queryOptions({
    queryKey: [...keys.datasets, filter ?? ''],
    queryFn: ({ signal }) =>
      q(
        client.GET('/api/v1/datasets', {
          params: { query: { pageSize: 1000, ...(filter ? { filter } : {}) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const modelsQuery = (filter?: string) =>
  queryOptions({
    queryKey: [...keys.models, filter ?? ''],
    queryFn: ({ signal }) =>
      q(
        client.GET('/api/v1/models', {
          params: { query: { pageSize: 1000, ...(filter ? { filter } : {}) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const frameworksQuery = () =>
  queryOptions({
    queryKey: keys.frameworks,
    queryFn: ({ signal }) => q(client.GET('/api/v1/frameworks', { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });

export const serverStatusQuery = () =>
  queryOptions({
    queryKey: keys.server,
    queryFn: ({ signal }) => q(client.GET('/api/v1/server/status', { signal })),
    refetchInterval: 15_000,
  });
