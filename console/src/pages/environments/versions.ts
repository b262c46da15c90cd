import type { Environment } from '~/api/types';

const SHOWN = ['torch', 'cuda', 'nccl', 'driver', 'python', 'agent'] as const;

/** What is known of an environment's versions, the weightiest first. */
export function versionsOf({ versions }: Pick<Environment, 'versions'>): [name: string, version: string][] {
  return SHOWN.flatMap((name): [string, string][] => {
    const version = versions[name];
    return version ? [[name, version]] : [];
  });
}
