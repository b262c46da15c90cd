import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client, q } from '~/api/client';
import type { PlanReport, PlanRequest } from '~/api/types';

/** What the planner says of a model on some environments; nothing is stored. */
export const planQuery = (body: PlanRequest) =>
  queryOptions({
    queryKey: ['plan', body],
    staleTime: 60_000,
    retry: false,
    // What was said of other numbers stays until the new word is there.
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => q(client.POST('/api/v1/plans', { body, signal })),
  });

export type ScalePoint = { gpus: number; name: string; tokensPerS: number; efficiency: number };

/** How throughput grows, and how much of each GPU is left of what the first ones do. Sizes on which nothing fits are left out. */
export function scaling(points: PlanReport['scaling']): ScalePoint[] {
  const known = points.flatMap(({ gpus, name, tokensPerS }) =>
    tokensPerS == null || gpus === 0 ? [] : [{ gpus, name: name ?? '', tokensPerS }],
  );
  const first = known[0];
  if (!first) return [];
  const each = first.tokensPerS / first.gpus;
  return known.map((point) => ({ ...point, efficiency: point.tokensPerS / (each * point.gpus) }));
}

export const TERMS = ['parameters', 'gradients', 'optimizer', 'activations', 'logits', 'transient', 'context'] as const;
export type Term = (typeof TERMS)[number];
export type Part = { term: Term; gib: number; share: number };

/** The memory of one GPU as parts of a bar that is as long as what is needed or had, whichever is more. */
export function partsOf(memory: Record<Term, number>, cardGib: number): Part[] {
  const needed = TERMS.reduce((sum, term) => sum + memory[term], 0);
  const whole = Math.max(needed, cardGib);
  return TERMS.flatMap((term) =>
    memory[term] > 0 ? [{ term, gib: memory[term], share: whole === 0 ? 0 : memory[term] / whole }] : [],
  );
}
