import { expect, test } from 'vitest';
import { mostPoints, packSteps } from '~/api/packSteps';
import { heat, warmth } from './heat';

const series = (rank: number, points: [step: number | null, value: number][]) => ({
  name: 'stepTimeS',
  rank,
  points: points.map(([step, value]) => ({ time: 1_000 * (step ?? 0), step, value, min: value, max: value })),
});
const even = (rank: number, value: number) =>
  series(
    rank,
    Array.from({ length: 10 }, (_, step) => [step, value] as [number, number]),
  );
const row = (made: ReturnType<typeof heat>, at: number) => [
  ...made.cells.subarray(at * made.columns, (at + 1) * made.columns),
];

test('the slowest rank comes first, cells are means', () => {
  const packed = packSteps([even(0, 1), even(1, 3), even(2, 2)]);
  expect(mostPoints(packed)).toBe(10);
  const made = heat(packed, true, 5);
  expect([...made.ranks]).toEqual([1, 2, 0]);
  expect([...made.means]).toEqual([3, 2, 1]);
  expect([...made.worsts]).toEqual([3, 2, 1]);
  expect(row(made, 0)).toEqual([3, 3, 3, 3, 3]);
  expect(row(made, 2)).toEqual([1, 1, 1, 1, 1]);
  expect([made.from, made.to, made.low, made.high]).toEqual([0, 9, 1, 3]);
});

test('a step fills the time before its end, and none the time after', () => {
  const made = heat(
    packSteps([
      series(0, [
        [0, 1],
        [10, 2],
      ]),
      series(1, [
        [0, 5],
        [5, 9],
      ]),
    ]),
    false,
    4,
  );
  expect([...made.ranks]).toEqual([1, 0]);
  expect(row(made, 1)).toEqual([1, 2, 2, 2]);
  expect(row(made, 0)).toEqual([5, 9, 9, Number.NaN]);
});

test('what has no step has no place among steps, and no samples make no map', () => {
  const made = heat(
    packSteps([
      series(0, [[null, 7]]),
      series(1, [
        [3, 1],
        [null, 9],
      ]),
    ]),
    true,
    3,
  );
  expect([...made.ranks]).toEqual([1]);
  expect([made.from, made.to, made.high]).toEqual([3, 3, 1]);
  expect(heat(packSteps([]), true, 4).ranks).toHaveLength(0);
});

test('warmth stays between nothing and all', () => {
  expect([0, 1, 2, 9].map((value) => warmth({ low: 1, high: 3 }, value))).toEqual([0, 0, 0.5, 1]);
  expect(warmth({ low: 1, high: 1 }, 1)).toBe(0);
});
