import type { Rank, Task } from '~/api/types';

type Timed = Pick<Task, 'attempts' | 'rankMap' | 'worldSize'>;

/** Hours of GPUs, or of workers where there are none, that all attempts have taken. */
export function deviceHours(task: Timed, now: number): { hours: number; isGpu: boolean } {
  const gpus = task.rankMap.filter((slot) => slot.gpu != null).length;
  const spent = task.attempts.reduce(
    (sum, attempt) => sum + Math.max(0, (attempt.endedAt ?? now) - attempt.startedAt),
    0,
  );
  const isGpu = gpus > 0;
  return { hours: (spent / 3_600_000) * (isGpu ? gpus : Math.max(task.worldSize, task.rankMap.length)), isGpu };
}

/** How many nodes and processes are asked for; of processes null where that depends on an environment that is not known. */
export function askedFor(
  { launchMode, distributed }: Pick<Task['spec'], 'launchMode' | 'distributed'>,
  workersOf: (environment: string) => number | undefined,
): { nodes: number; ranks: number | null } {
  if (typeof launchMode === 'object' && 'auto' in launchMode) {
    const { nodes = 1, gpusPerNode, workersPerNode } = launchMode.auto;
    return { nodes, ranks: nodes * (gpusPerNode ?? workersPerNode ?? 1) };
  }
  const { nodeIds, workers } = distributed;
  const counts = nodeIds.map((id) => workers?.[id]?.length ?? workersOf(id) ?? null);
  const ranks = counts.reduce((sum, count) => (sum === null || count === null ? null : sum + count), 0);
  return { nodes: nodeIds.length, ranks };
}

/** How a process ended. The API says it in English: names of signals are those everywhere, a code is put in words. */
export function exitWords(text: string | null | undefined, exitCode: (code: string) => string): string {
  return (text ?? '').replace(/^exit code (-?\d+)$/, (_, code: string) => exitCode(code));
}

export type RankTone = Rank['state'] | 'victim';

/** As what a rank is shown. Of those that failed the first is to blame, where one is. */
export function rankTone(row: Pick<Rank, 'rank' | 'state'>, first: number | null): RankTone {
  return row.state === 'failed' && first !== null && row.rank !== first ? 'victim' : row.state;
}
