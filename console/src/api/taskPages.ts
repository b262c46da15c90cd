import { type InfiniteData, infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client, q } from './client';
import { keys, type ListParams } from './queries';
import type { Page, TaskRow } from './types';

export type TaskPage = Page<TaskRow>;
/** Pages, each with the token by which it was asked for; the first has none. */
export type TaskPages = InfiniteData<TaskPage, string | undefined>;

const PAGE = 200;
/** The server gives no more at once. */
const MOST = 1_000;

const fetchPage = (params: ListParams, pageSize: number, token: string | undefined, signal: AbortSignal) =>
  q(
    client.GET('/api/v1/training-tasks', {
      params: { query: { pageSize, ...params, ...(token ? { pageToken: token } : {}) } },
      signal,
    }),
  );

/** The few tasks that are first. */
export const firstTasksQuery = (params: ListParams, count: number) =>
  queryOptions({
    queryKey: [...keys.tasks, 'first', params, count],
    queryFn: ({ signal }) => fetchPage(params, count, undefined, signal),
    placeholderData: keepPreviousData,
  });

/**
 * Pages of tasks; filter, order and total are the server's. All of them are never asked for again: of a hundred thousand
 * rows only those in sight are, by `pagesInSightQuery`.
 */
export const taskPagesQuery = (params: ListParams) =>
  infiniteQueryOptions({
    queryKey: [...keys.taskPages, params],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ signal, pageParam }) => fetchPage(params, PAGE, pageParam, signal),
    getNextPageParam: (last) => last.nextPageToken ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: false,
  });

/** Which pages the rows from one to another belong to. */
export function pagesOf(pages: readonly TaskPage[], first: number, last: number): [number, number] {
  let from = 0;
  let to = 0;
  let rows = 0;
  for (const [index, page] of pages.entries()) {
    if (rows <= first) from = index;
    if (rows <= last) to = index;
    rows += page.items.length;
  }
  return [from, to];
}

/** Asks for the pages in sight again whenever something happens to tasks, and puts them in their places. */
export const pagesInSightQuery = (params: ListParams, tokens: (string | undefined)[], asOf: number) =>
  queryOptions({
    queryKey: [...keys.tasks, 'in sight', params, tokens],
    enabled: tokens.length > 0,
    // They have come a moment ago.
    initialData: asOf,
    initialDataUpdatedAt: asOf,
    queryFn: async ({ signal, client: cache }) => {
      for (const token of tokens) {
        const held = cache.getQueryData<TaskPages>([...keys.taskPages, params]);
        const rows = held?.pages[held.pageParams.indexOf(token)]?.items.length ?? PAGE;
        const fresh = await fetchPage(params, Math.min(MOST, Math.max(PAGE, rows)), token, signal);
        cache.setQueryData<TaskPages>([...keys.taskPages, params], (data) => data && renewed(data, token, fresh));
      }
      return Date.now();
    },
  });

/** The pages after one of them was asked for again. Rows that new ones pushed out of it stay until their turn comes. */
export function renewed(data: TaskPages, token: string | undefined, fresh: TaskPage): TaskPages {
  const at = data.pageParams.indexOf(token);
  const old = data.pages[at];
  if (!old) return data;
  const next = fresh.nextPageToken ?? null;
  if (next === (old.nextPageToken ?? null)) return { ...data, pages: data.pages.with(at, fresh) };
  const last = fresh.items.at(-1);
  const met = last ? old.items.findIndex((row) => row.id === last.id) : -1;
  if (next !== null && met >= 0) {
    const joined = { ...fresh, items: [...fresh.items, ...old.items.slice(met + 1)], nextPageToken: old.nextPageToken };
    return { ...data, pages: data.pages.with(at, joined as TaskPage) };
  }
  // Nothing of it is where it was: what comes behind is asked for anew.
  return { pages: [...data.pages.slice(0, at), fresh], pageParams: data.pageParams.slice(0, at + 1) };
}
