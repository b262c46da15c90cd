import type { Preview } from '~/api/types';
import type { Form } from './form';

export type Plan = NonNullable<Preview['plan']>;
export type Suggestion = NonNullable<Plan['suggestion']>;

/** What to set in the form so that it is trained as the planner suggests. Null for a strategy that has no framework here. */
export function taken({ strategy, microBatch }: Pick<Suggestion, 'strategy' | 'microBatch'>): Partial<Form> | null {
  const plain = { zeroStage: '', microBatchSize: String(microBatch) };
  if (strategy === 'ddp') return { ...plain, framework: 'pytorch-ddp' };
  if (strategy.startsWith('fsdp')) return { ...plain, framework: 'pytorch-fsdp' };
  if (strategy === 'three_d') return { ...plain, framework: 'megatron-lm' };
  const stage = /^zero([123])$/.exec(strategy)?.[1];
  return stage ? { ...plain, framework: 'deepspeed', zeroStage: stage } : null;
}
