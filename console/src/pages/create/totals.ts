import type { Aggregate, Environment } from '~/api/types';

export type Summed = Pick<Environment, 'gpus' | 'gpuCount' | 'workers' | 'cpuCores' | 'memory' | 'zone'>;

/** Null where nothing is chosen. */
export function summaryOf(chosen: readonly Summed[]): Aggregate | null {
  if (chosen.length === 0) return null;
  const sum = (of: (environment: Summed) => number) =>
    chosen.reduce((total, environment) => total + of(environment), 0);
  const distinct = (values: string[]) => [...new Set(values)];
  return {
    nodeCount: chosen.length,
    totalGpus: sum((environment) => environment.gpuCount),
    totalWorkers: sum((environment) => environment.workers.length),
    totalCpus: sum((environment) => environment.cpuCores),
    totalMemory: sum((environment) => environment.memory),
    gpuTypes: distinct(chosen.flatMap(({ gpus }) => gpus.filter((gpu) => gpu.count > 0).map((gpu) => gpu.model))),
    zones: distinct(chosen.flatMap(({ zone }) => (zone ? [zone] : []))),
    isDistributed: chosen.length > 1,
  };
}
