import type { Environment, EnvironmentStatus } from './types';

/** What a list of environments is narrowed by, each with the values that are wanted. */
export const NARROWED_BY = ['status', 'zone', 'gpu', 'image', 'label'] as const;
export type NarrowedBy = (typeof NARROWED_BY)[number];

/** `2x A100`; null where there is no GPU. */
export function gpuText(environment: Pick<Environment, 'gpus'>): string | null {
  const kinds = environment.gpus.filter((gpu) => gpu.count > 0);
  return kinds.length > 0 ? kinds.map((gpu) => `${gpu.count}x ${gpu.model}`).join(', ') : null;
}

/** The tasks that hold workers there, each once. */
export function holders(environment: Pick<Environment, 'workers'>): string[] {
  return [...new Set(environment.workers.flatMap((worker) => (worker.taskId ? [worker.taskId] : [])))];
}

/** An environment whose machine is away cannot be chosen; the server would refuse it. */
export function isAway(status: EnvironmentStatus): boolean {
  return status === 'offline' || status === 'lost';
}

/** All values that some environment has in a field, such as all zones. */
export function valuesOf(environments: readonly Environment[], field: NarrowedBy): string[] {
  const natural = new Intl.Collator('zh-CN', { numeric: true });
  return [...new Set(environments.flatMap((environment) => fieldOf(environment, field)))].sort(natural.compare);
}

function fieldOf(environment: Environment, field: NarrowedBy): string[] {
  switch (field) {
    case 'status':
      return [environment.status];
    case 'zone':
      return environment.zone ? [environment.zone] : [];
    case 'gpu':
      return environment.gpus.filter((gpu) => gpu.count > 0).map((gpu) => gpu.model);
    case 'image':
      return environment.image ? [environment.image] : [];
    case 'label':
      return Object.entries(environment.labels).map(([key, value]) => `${key}=${value}`);
  }
}

/** Those that have one of the wanted values in each field, and the text somewhere in what is shown of them. */
export function narrowed(
  environments: readonly Environment[],
  wanted: Readonly<Record<string, readonly string[] | undefined>>,
  text: string,
): Environment[] {
  const part = text.trim().toLowerCase();
  return environments.filter(
    (environment) =>
      NARROWED_BY.every((field) => {
        const values = wanted[field];
        return !values?.length || fieldOf(environment, field).some((value) => values.includes(value));
      }) &&
      (part === '' ||
        [environment.name, environment.id, environment.zone ?? '', environment.image ?? '', gpuText(environment) ?? '']
          .join(' ')
          .toLowerCase()
          .includes(part)),
  );
}

export const ORDERS = ['came', 'name', 'gpus', 'uptime', 'status', 'heartbeat'] as const;
export type Order = (typeof ORDERS)[number];
const STATUS_ORDER: EnvironmentStatus[] = ['running', 'busy', 'suspect', 'drained', 'offline', 'lost'];

/** In an order; equal ones stay as they came. Most GPUs, the longest up and the longest silent come first. */
export function ordered(environments: readonly Environment[], order: Order): Environment[] {
  const natural = new Intl.Collator('zh-CN', { numeric: true });
  const compare: Record<Order, (a: Environment, b: Environment) => number> = {
    came: () => 0,
    name: (a, b) => natural.compare(a.name, b.name),
    gpus: (a, b) => b.gpuCount - a.gpuCount || b.workers.length - a.workers.length,
    uptime: (a, b) => (a.upSince ?? Number.MAX_SAFE_INTEGER) - (b.upSince ?? Number.MAX_SAFE_INTEGER),
    status: (a, b) => STATUS_ORDER.indexOf(a.status) - STATUS_ORDER.indexOf(b.status),
    heartbeat: (a, b) => (b.heartbeatAgeMs ?? Number.MAX_SAFE_INTEGER) - (a.heartbeatAgeMs ?? Number.MAX_SAFE_INTEGER),
  };
  return [...environments].sort(compare[order]);
}
