import { expect, test } from 'vitest';
import { mostPoints, packSteps } from '~/api/packSteps';
import { extentOf, type Heat, heat, warmth } from './heat';

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
const row = (made: Heat, at: number) => [...made.cells.subarray(at * made.columns, (at + 1) * made.columns)];

test('the slowest rank comes first, cells are means', () => {
  const packed = packSteps([even(0, 1), even(1, 3), even(2, 2)]);
  expect(mostPoints(packed)).toBe(10);
  const made = heat(packed, { bySteps: true, from: 0, to: 9, columns: 5 });
  expect([...made.ranks]).toEqual([1, 2, 0]);
  expect([...made.means]).toEqual([3, 2, 1]);
  expect([...made.worsts]).toEqual([3, 2, 1]);
  expect(row(made, 0)).toEqual([3, 3, 3, 3, 3]);
  expect(row(made, 2)).toEqual([1, 1, 1, 1, 1]);
  expect([made.from, made.to, made.low, made.high]).toEqual([0, 9, 1, 3]);
});

test('a step fills the time before its end, and none the time after', () => {
  const packed = packSteps([
    series(0, [
      [0, 1],
      [10, 2],
    ]),
    series(1, [
      [0, 5],
      [5, 9],
    ]),
  ]);
  expect(extentOf(packed, false)).toEqual([-5, 10]);
  const made = heat(packed, { bySteps: false, from: -5, to: 10, columns: 3 });
  expect([...made.ranks]).toEqual([1, 0]);
  expect(row(made, 0)).toEqual([5, 5, 9]);
  expect(row(made, 1)).toEqual([1, 1, 2]);
  const wider = heat(packed, { bySteps: false, from: -5, to: 15, columns: 4 });
  expect(row(wider, 0)).toEqual([5, 5, 9, Number.NaN]);
});

test('a pause between two attempts stays empty, up to the first step after it', () => {
  const steps = [0, 1, 2, 3, 4, 20, 21, 22].map((time) => [time, 1] as [number, number]);
  const made = heat(packSteps([series(0, steps)]), { bySteps: false, from: 0, to: 24, columns: 12 });
  const nothing = Array(6).fill(Number.NaN);
  expect(row(made, 0)).toEqual([1, 1, 1, ...nothing, 1, 1, 1]);
});

test('what has no step has no place among steps, and no samples make no map', () => {
  const packed = packSteps([
    series(0, [[null, 7]]),
    series(1, [
      [3, 1],
      [null, 9],
    ]),
  ]);
  expect(extentOf(packed, true)).toEqual([3, 3]);
  const made = heat(packed, { bySteps: true, from: 3, to: 3, columns: 3 });
  expect([...made.ranks]).toEqual([1]);
  expect(made.low).toBe(1);
  expect(extentOf(packSteps([]), true)).toBeNull();
});

test('noise stays pale, and one slow rank of many is red', () => {
  const ranks = Array.from({ length: 64 }, (_, rank) => even(rank, rank === 9 ? 2 : 1 + (rank % 10) / 100));
  const made = heat(packSteps(ranks), { bySteps: true, from: 0, to: 9, columns: 5 });
  const colours = [...made.cells].map((cell) => warmth(made, cell));
  expect(colours.slice(0, 5)).toEqual([1, 1, 1, 1, 1]);
  expect(Math.max(...colours.slice(5))).toBeLessThan(0.25);
});

test('warmth stays between nothing and all', () => {
  expect([0, 1, 2, 9].map((value) => warmth({ low: 1, high: 3 }, value))).toEqual([0, 0, 0.5, 1]);
  expect(warmth({ low: 1, high: 1 }, 1)).toBe(0);
});
