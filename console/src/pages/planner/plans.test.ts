import { expect, test } from 'vitest';
import { bestSpeed, type Plan, type Ranked, ranked, scaling } from './plans';

const plan = (fits: boolean, tokensPerS: number | null, missingGib = 0, suggested: number | null = null) =>
  ({
    fits,
    tokensPerS,
    missingGib,
    suggestion: suggested === null ? null : { tokensPerS: suggested },
  }) as Plan;
const of = (key: string, found: Plan): Ranked => ({ candidate: { key, framework: key }, plan: found });

test('what fits and is fast comes first, what lacks most last', () => {
  const order = ranked([
    of('a', plan(false, null, 9)),
    of('b', plan(true, 5)),
    of('c', plan(false, null, 2)),
    of('d', plan(true, 8)),
  ]);
  expect(order.map((entry) => entry.candidate.key)).toEqual(['d', 'b', 'c', 'a']);
});

test('the best speed may be that of a suggestion', () => {
  expect(bestSpeed([plan(true, 5), plan(false, 99, 1, 7)])).toBe(7);
  expect(bestSpeed([plan(false, 99, 1)])).toBeNull();
});

test('efficiency is counted from the first that is known', () => {
  const points = scaling([
    { gpus: 4, tokensPerS: null },
    { gpus: 8, tokensPerS: 80 },
    { gpus: 16, tokensPerS: 144 },
  ]);
  expect(points).toEqual([
    { gpus: 8, tokensPerS: 80, efficiency: 1 },
    { gpus: 16, tokensPerS: 144, efficiency: 0.9 },
  ]);
});
