import type { Environment } from '~/api/types';

export type Zone = { name: string | null; environments: Environment[]; free: number; workers: number };

/** Environments by zone, both in the order of their names; those without a zone come last. */
export function byZone(environments: readonly Environment[]): Zone[] {
  const zones = new Map<string | null, Environment[]>();
  for (const environment of environments) {
    const name = environment.zone ?? null;
    const members = zones.get(name);
    if (members) members.push(environment);
    else zones.set(name, [environment]);
  }
  const natural = new Intl.Collator('zh-CN', { numeric: true });
  return [...zones]
    .map(([name, members]) => ({
      name,
      environments: members.sort((a, b) => natural.compare(a.name, b.name)),
      free: members.reduce((sum, member) => sum + member.workersFree, 0),
      workers: members.reduce((sum, member) => sum + member.workers.length, 0),
    }))
    .sort((a, b) => (a.name === null ? 1 : b.name === null ? -1 : a.name.localeCompare(b.name, 'zh-CN')));
}

export type SquareState = 'free' | 'busy' | 'suspect' | 'offline';

/** The colour of a worker: its machine's silence counts before its own work. */
export function squareState(environment: Environment, isHeld: boolean): SquareState {
  switch (environment.status) {
    case 'offline':
    case 'lost':
      return 'offline';
    case 'suspect':
      return 'suspect';
    case 'running':
    case 'busy':
    case 'drained':
      return isHeld ? 'busy' : 'free';
  }
}

/** The colour of an environment as a whole: busy when a part of it works. */
export const environmentState = (environment: Environment) =>
  squareState(environment, environment.workersFree < environment.workers.length);
