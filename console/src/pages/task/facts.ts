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

/** Words of a command line, in quotes where a shell would need them. */
export function shellLine(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
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
