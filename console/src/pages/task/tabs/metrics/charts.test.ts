import { expect, test } from 'vitest';
import type { Series } from '~/api/types';
import { courses, plan, pointsFor, sameAll, spread } from './charts';

const series = (name: string, rank: number, values: number[]): Series => ({
  name,
  rank,
  points: values.map((value, at) => ({ time: 1_000 * at, step: at, value, min: value, max: value })),
});
const words = {
  nameOf: (one: Series) => `rank ${one.rank}`,
  all: 'all',
  spread: ['low', 'mid', 'high'] as [string, string, string],
};

test('what training reports comes before machines', () => {
  const names = ['machine.cpu', 'mine', 'gpu.use', 'tokensPerS', 'loss'];
  expect(plan(names.map((name) => series(name, 0, [1]))).map((chart) => chart.name)).toEqual([
    'loss',
    'tokensPerS',
    'mine',
    'gpu.use',
    'machine.cpu',
  ]);
  expect(plan([series('loss', 0, [])])).toEqual([]);
  const timed: Series = { name: 'mine', rank: 0, points: [{ time: 1_000, value: 1, min: 1, max: 1 }] };
  expect(plan([series('loss', 0, [1]), timed]).map((chart) => chart.hasSteps)).toEqual([true, false]);
});

test('ranks that agree are one line, some are lines, many are a spread', () => {
  const chart = (list: Series[]) => plan(list)[0] ?? { name: '', isMachine: false, hasSteps: true, series: [] };
  const labels = (list: Series[]) => courses(chart(list), true, words).map((course) => course.label);
  expect(labels([series('loss', 0, [1, 2]), series('loss', 1, [1, 2])])).toEqual(['all']);
  expect(labels([series('loss', 0, [1, 2]), series('loss', 1, [1, 3])])).toEqual(['rank 0', 'rank 1']);
  expect(labels([series('loss', 0, [4, 3, 2, 1]), series('loss', 1, [4, 3, 2])])).toEqual(['all']);
  expect(labels([series('loss', 0, [4, 3, 2, 1, 0, 0]), series('loss', 1, [4, 3, 2])])).toEqual(['rank 0', 'rank 1']);
  const many = Array.from({ length: 9 }, (_, rank) => series('loss', rank, [rank, rank]));
  expect(labels(many)).toEqual(['low', 'mid', 'high']);
});

test('a spread holds the outermost and the middle', () => {
  const numbers = (...values: number[]) => Float64Array.from(values);
  const made = spread(numbers(0, 0, 0, 10, 10, Number.NaN), numbers(5, 9, 1, 4, 3, 100), 2);
  expect(made.map((course) => course.map(({ y }) => y))).toEqual([
    [1, 3],
    [5, 3],
    [9, 4],
  ]);
  expect(made[0].map(({ x }) => x)).toEqual([2.5, 7.5]);
  expect(spread(numbers(), numbers(), 2)).toEqual([[], [], []]);
  expect(sameAll([[{ x: 0, y: 1 }]])).toBe(false);
});

test.each([
  [0, 400],
  [8, 400],
  [4096, 39],
  [200_000, 2],
])('of %i ranks each has %i points', (worldSize, points) => {
  expect(pointsFor(worldSize)).toBe(points);
});
