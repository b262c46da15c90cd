import { expect, test } from 'vitest';
import { heat, warmth } from './heat';

const course = (rank: number, y: number) => ({ rank, samples: Array.from({ length: 10 }, (_, x) => ({ x, y })) });

test('the slowest rank comes first, cells are means', () => {
  const made = heat([course(0, 1), course(1, 3), course(2, 2)], 5);
  expect(made.rows.map((row) => row.rank)).toEqual([1, 2, 0]);
  expect(made.rows[0]?.cells).toEqual([3, 3, 3, 3, 3]);
  expect([made.from, made.to, made.low, made.high]).toEqual([0, 9, 1, 3]);
});

test('a step fills the time before its end, no samples make no map', () => {
  expect(
    heat(
      [
        {
          rank: 0,
          samples: [
            { x: 0, y: 1 },
            { x: 10, y: 2 },
          ],
        },
      ],
      4,
    ).rows[0]?.cells,
  ).toEqual([1, 2, 2, 2]);
  expect(heat([], 4).rows).toEqual([]);
});

test('warmth stays between nothing and all', () => {
  expect([0, 1, 2, 9].map((value) => warmth({ low: 1, high: 3 }, value))).toEqual([0, 0, 0.5, 1]);
  expect(warmth({ low: 1, high: 1 }, 1)).toBe(0);
});
