import { queryOptions } from '@tanstack/react-query';
import { client, q } from '~/api/client';
import type { CreateRequest, Preview } from '~/api/types';

export type Plan = NonNullable<Preview['plan']>;

/** Ways to train that are compared. */
export type Candidate = { key: string; framework: string; settings?: Record<string, unknown> };

export const CANDIDATES: Candidate[] = [
  { key: 'ddp', framework: 'pytorch-ddp' },
  { key: 'fsdp', framework: 'pytorch-fsdp' },
  { key: 'zero1', framework: 'deepspeed', settings: { zeroStage: 1 } },
  { key: 'zero2', framework: 'deepspeed', settings: { zeroStage: 2 } },
  { key: 'zero3', framework: 'deepspeed', settings: { zeroStage: 3 } },
  { key: 'megatron', framework: 'megatron-lm' },
];

/** What the server would say of a task with this model there; nothing is created. */
export const planQuery = (model: string, environments: readonly string[], candidate: Candidate) =>
  queryOptions({
    queryKey: ['plan', model, environments, candidate.key],
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const [first] = environments;
      const body = {
        taskName: 'plan',
        modelId: model,
        distributedConfig: { nodeIds: [...environments], masterNode: first ?? null, framework: candidate.framework },
        command: { argv: ['train.py'] },
        options: { framework: candidate.settings ?? {} },
      };
      const preview = await q(
        client.POST('/api/v1/training-tasks/preview', { body: body as unknown as CreateRequest, signal }),
      );
      return preview.plan ?? null;
    },
  });

export type Ranked = { candidate: Candidate; plan: Plan };

/** What fits comes first, the fastest first; of what does not fit, what lacks least. */
export function ranked(found: readonly Ranked[]): Ranked[] {
  return [...found].sort((a, b) => {
    if (a.plan.fits !== b.plan.fits) return a.plan.fits ? -1 : 1;
    if (a.plan.fits) return (b.plan.tokensPerS ?? 0) - (a.plan.tokensPerS ?? 0);
    return a.plan.missingGib - b.plan.missingGib;
  });
}

/** The best speed that is known: of a strategy that fits, or of what the planner suggests instead. */
export function bestSpeed(plans: readonly Plan[]): number | null {
  const speeds = plans.flatMap((plan) => [plan.fits ? plan.tokensPerS : null, plan.suggestion?.tokensPerS]);
  const known = speeds.filter((speed) => speed != null);
  return known.length === 0 ? null : Math.max(...known);
}

export type ScalePoint = { gpus: number; tokensPerS: number; efficiency: number };

/** How throughput grows, and how much of each GPU is left of what the first ones do. */
export function scaling(points: readonly { gpus: number; tokensPerS: number | null }[]): ScalePoint[] {
  const known = points.flatMap(({ gpus, tokensPerS }) =>
    tokensPerS === null || gpus === 0 ? [] : [{ gpus, tokensPerS }],
  );
  const first = known[0];
  if (!first) return [];
  const each = first.tokensPerS / first.gpus;
  return known.map((point) => ({ ...point, efficiency: point.tokensPerS / (each * point.gpus) }));
}
