import { queryOptions, useQuery } from '@tanstack/react-query';
import { ask } from '~/api/client';
import { keys, metricsQuery, OFTEN, ranksQuery } from '~/api/queries';
import type { LogChunk, Rank, Task } from '~/api/types';
import { bare } from '~/logs/ansi';
import { fold } from '~/logs/fold';

export type RankRow = Rank & { stepTime: number | null; lastLine: string };

/** The last line that each rank has written; of one that failed rather what it said on its error stream. */
export function lastLines(chunks: readonly LogChunk[], isFailed: (rank: number) => boolean): Map<number, string> {
  const found = new Map<number, string>();
  for (const chunk of chunks) {
    const line = bare(fold(chunk.text.trimEnd().split('\n').pop() ?? '').text).trim();
    const isWanted = chunk.stream === 'stdout' || isFailed(chunk.rank) || !found.has(chunk.rank);
    if (line !== '' && isWanted) found.set(chunk.rank, line.slice(0, 400));
  }
  return found;
}

const lastLinesQuery = (id: string) =>
  queryOptions({
    queryKey: [...keys.task(id), 'lastLines'],
    queryFn: () => ask<{ chunks: LogChunk[] }>('GET', `/api/v1/training-tasks/${encodeURIComponent(id)}/logs?tail=1`),
  });

/** Ranks with their pace and their last words. */
export function useRanks(task: Task) {
  const refetchInterval = task.endedAt == null ? OFTEN : (false as const);
  const ranks = useQuery({ ...ranksQuery(task.id), refetchInterval });
  const pace = useQuery({ ...metricsQuery(task.id, { series: 'stepTimeS', maxPoints: 2 }), refetchInterval });
  const last = useQuery({ ...lastLinesQuery(task.id), refetchInterval });
  const items = ranks.data?.items ?? [];
  const failed = new Set(items.filter((rank) => rank.state === 'failed').map((rank) => rank.rank));
  const lines = lastLines(last.data?.chunks ?? [], (rank) => failed.has(rank));
  const times = new Map(pace.data?.series.map((one) => [one.rank, one.points[one.points.length - 1]?.value ?? null]));
  const rows: RankRow[] = items.map((rank) => ({
    ...rank,
    stepTime: times.get(rank.rank) ?? null,
    lastLine: lines.get(rank.rank) ?? '',
  }));
  return { query: ranks, rows };
}
