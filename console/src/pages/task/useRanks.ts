import { queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { ask } from '~/api/client';
import { keys, metricsQuery, ranksPace, ranksQuery } from '~/api/queries';
import type { LogChunk, Rank, Series, Task } from '~/api/types';
import { bare } from '~/logs/ansi';
import { fold } from '~/logs/fold';

/** What is told of one rank when it is looked at: of thousands most are not. */
export type About = { stepTime: number | null; lastLine: string };
export type AboutRank = (rank: Rank) => About;

/** The last line that a rank has written; of one that failed rather what it said on its error stream. */
export function lastLine(chunks: readonly Pick<LogChunk, 'stream' | 'text'>[], isFailed: boolean): string {
  let found = '';
  for (const { stream, text } of chunks) {
    const line = bare(fold(text.trimEnd().split('\n').pop() ?? '').text).trim();
    if (line !== '' && (stream === 'stdout' || isFailed || found === '')) found = line.slice(0, 400);
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
  const refetchInterval = ranksPace(task);
  const ranks = useQuery({ ...ranksQuery(task.id), refetchInterval });
  const times = useQuery({ ...metricsQuery(task.id, { series: 'stepTimeS', maxPoints: 2 }), refetchInterval });
  const last = useQuery({ ...lastLinesQuery(task.id), refetchInterval });
  const about = useMemo(() => aboutOf(times.data?.series ?? [], last.data?.chunks ?? []), [times.data, last.data]);
  return { query: ranks, rows: ranks.data?.items ?? NONE, about };
}

const NONE: Rank[] = [];

function aboutOf(series: readonly Series[], chunks: readonly LogChunk[]): AboutRank {
  const times = new Map(series.map((one) => [one.rank, one.points[one.points.length - 1]?.value ?? null]));
  const written = new Map<number, LogChunk[]>();
  for (const chunk of chunks) {
    const list = written.get(chunk.rank);
    if (list) list.push(chunk);
    else written.set(chunk.rank, [chunk]);
  }
  return ({ rank, state }) => ({
    stepTime: times.get(rank) ?? null,
    lastLine: lastLine(written.get(rank) ?? [], state === 'failed'),
  });
}
