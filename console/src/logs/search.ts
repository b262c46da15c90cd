import { infiniteQueryOptions } from '@tanstack/react-query';
import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import type { LogMatch } from '~/api/types';
import { lineKey, type StreamKind } from './line';
import { onlyRank, type RankFilter, wantsRank } from './ranks';

export type LogQuestion = {
  taskId: string;
  text: string;
  ranks: RankFilter;
  stream: StreamKind | null;
  attempt?: number;
};

/** So many matches are counted; more are `N+`. */
export const MOST_MATCHES = 5_000;

/** Looks on where the server has looked at as much as it does at once, and has found nothing: there is nothing to show yet. */
export async function untilFound<P extends { items: readonly unknown[]; nextPageToken?: string | null | undefined }>(
  from: string | undefined,
  look: (pageToken: string | undefined) => Promise<P>,
): Promise<P> {
  let page = await look(from);
  while (page.items.length === 0 && page.nextPageToken) page = await look(page.nextPageToken);
  return page;
}

/** Lines that hold a text, found by the server in all that was ever written. */
export const searchQuery = ({ taskId, text, ranks, stream, attempt }: LogQuestion) =>
  infiniteQueryOptions({
    queryKey: [...keys.task(taskId), 'search', text, onlyRank(ranks), stream, attempt ?? null],
    enabled: text.trim() !== '',
    staleTime: 10_000,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ signal, pageParam }) => {
      const rank = onlyRank(ranks);
      // The first match is shown as soon as it is found; the others are counted behind it.
      const limit = pageParam ? 1_000 : 1;
      const query = {
        query: text,
        ignoreCase: true,
        limit,
        ...(rank === null ? {} : { rank }),
        ...(stream ? { stream } : {}),
        ...(attempt === undefined ? {} : { attempt }),
      };
      const path = { id: taskId };
      return untilFound(pageParam, (pageToken) =>
        q(
          client.GET('/api/v1/training-tasks/{id}/logs/search', {
            params: { path, query: { ...query, ...(pageToken ? { pageToken } : {}) } },
            signal,
          }),
        ),
      );
    },
    getNextPageParam: (last) => last.nextPageToken ?? undefined,
  });

type Hit = LogMatch & { key: string };

/** The matches of the wanted ranks, with the keys of their lines. */
export function hitsOf(pages: readonly { attempt: number; items: readonly LogMatch[] }[], ranks: RankFilter): Hit[] {
  return pages.flatMap((page) =>
    page.items
      .filter((match) => wantsRank(ranks, match.rank))
      .map((match) => ({ ...match, key: lineKey({ ...match, attempt: page.attempt }) })),
  );
}

/** The match one step on from the line that is shown, around the ends. */
export function stepTo(hits: readonly Hit[], shown: string | null, by: 1 | -1): Hit | null {
  if (hits.length === 0) return null;
  const at = hits.findIndex((hit) => hit.key === shown);
  if (at < 0) return hits[by === 1 ? 0 : hits.length - 1] ?? null;
  return hits[(at + by + hits.length) % hits.length] ?? null;
}

const FIRST_ERRORS = ['Traceback (most recent call last)', 'error', 'fatal', 'exception'];

/** The first line that speaks of an error: the one that is known, else by the words that errors have. */
export async function firstError(taskId: string, known: { text: string; rank: number } | null): Promise<string | null> {
  const ask = async (text: string, rank?: number) => {
    const query = { query: text, limit: 1, ignoreCase: true, ...(rank === undefined ? {} : { rank }) };
    const found = await untilFound(undefined, (pageToken) =>
      q(
        client.GET('/api/v1/training-tasks/{id}/logs/search', {
          params: { path: { id: taskId }, query: { ...query, ...(pageToken ? { pageToken } : {}) } },
        }),
      ),
    );
    const [match] = found.items;
    return match ? lineKey({ ...match, attempt: found.attempt }) : null;
  };
  if (known) {
    const found = await ask(known.text.slice(0, 300), known.rank);
    if (found) return found;
  }
  for (const word of FIRST_ERRORS) {
    const found = await ask(word);
    if (found) return found;
  }
  return null;
}
