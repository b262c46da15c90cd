import type { Environment } from '~/api/types';

const COMPONENTS = ['agent', 'python', 'torch', 'cuda', 'nccl', 'driver'] as const;
export type Component = (typeof COMPONENTS)[number];

export type VersionRow = {
  component: Component;
  cells: { environment: string; version: string | null; isOdd: boolean }[];
};

/** Versions side by side. Odd is what is known and differs from what most have; of a tie the first counts. */
export function versionRows(environments: readonly Environment[]): VersionRow[] {
  return COMPONENTS.map((component) => {
    const versions = environments.map((environment) => environment.versions[component] ?? null);
    const counts = new Map<string, number>();
    for (const version of versions) if (version !== null) counts.set(version, (counts.get(version) ?? 0) + 1);
    const most = [...counts].reduce<[string, number] | null>(
      (best, entry) => (best && best[1] >= entry[1] ? best : entry),
      null,
    );
    return {
      component,
      cells: environments.map((environment, index) => {
        const version = versions[index] ?? null;
        return {
          environment: environment.id,
          version,
          isOdd: version !== null && most !== null && version !== most[0],
        };
      }),
    };
  });
}
