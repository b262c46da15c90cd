import type { Environment } from '~/api/types';

export type Want = { count: number; gpu: string };
type Picked = Pick<Environment, 'id' | 'status' | 'zone' | 'gpus' | 'gpuCount' | 'workers' | 'workersFree'>;

/**
 * Free environments that have together as many GPUs (or workers) as are wanted: if possible one, else of one zone and
 * one model, with as few machines as can be. Null where there are not enough.
 */
export function pick(environments: readonly Picked[], want: Want): string[] | null {
  const free = environments.filter(
    ({ status, workers, workersFree, gpus }) =>
      status === 'running' &&
      workers.length > 0 &&
      workersFree === workers.length &&
      (want.gpu === '' || gpus.some(({ model, count }) => count > 0 && model === want.gpu)),
  );
  const kind = (environment: Picked) => environment.gpus.map((gpu) => gpu.model).join();
  const key = (environment: Picked) => `${environment.zone ?? ''} ${kind(environment)}`;
  const parts = [...grouped(free, key), ...grouped(free, kind), free];
  const found = parts.flatMap((part) => {
    const chosen = fewest(part, want.count);
    return chosen ? [chosen] : [];
  });
  // Of as few machines, those of which least is left over; the first parts have the least between them.
  const size = (chosen: readonly Picked[]) => chosen.reduce((total, { workers }) => total + workers.length, 0);
  found.sort((a, b) => a.length - b.length || size(a) - size(b));
  return found[0]?.map(({ id }) => id) ?? null;
}

function grouped(environments: readonly Picked[], key: (environment: Picked) => string): Picked[][] {
  const groups = new Map<string, Picked[]>();
  for (const environment of environments) {
    const group = groups.get(key(environment));
    if (group) group.push(environment);
    else groups.set(key(environment), [environment]);
  }
  return [...groups.values()];
}

/** The largest first, and at the end the smallest that is enough. */
function fewest(environments: readonly Picked[], count: number): Picked[] | null {
  const bySize = [...environments].sort((a, b) => b.workers.length - a.workers.length);
  const chosen: Picked[] = [];
  let left = count;
  while (left > 0) {
    const rest = bySize.filter((environment) => !chosen.includes(environment));
    const next = rest.findLast((environment) => environment.workers.length >= left) ?? rest[0];
    if (!next) return null;
    chosen.push(next);
    left -= next.workers.length;
  }
  return chosen;
}
