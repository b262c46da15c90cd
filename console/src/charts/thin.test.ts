import { expect, test } from 'vitest';
import { join, thin } from './thin';

const wave = Array.from({ length: 10_000 }, (_, x) => ({ x, y: x === 4_321 ? 99 : Math.sin(x / 50) }));

test('a spike survives, the ends stay, the order too', () => {
  const less = thin(wave, 200);
  expect(less.length).toBeLessThanOrEqual(200);
  expect(less.some((sample) => sample.y === 99)).toBe(true);
  expect([less[0], less[less.length - 1]]).toEqual([wave[0], wave[9_999]]);
  expect(less.every((sample, at) => at === 0 || sample.x > (less[at - 1]?.x ?? 0))).toBe(true);
  expect(thin(wave.slice(0, 5), 200)).toHaveLength(5);
});

test('courses share an axis', () => {
  expect(
    join([
      [{ x: 1, y: 5 }],
      [
        { x: 0, y: 7 },
        { x: 1, y: 8 },
      ],
    ]),
  ).toEqual({
    xs: [0, 1],
    ys: [
      [null, 5],
      [7, 8],
    ],
  });
});
