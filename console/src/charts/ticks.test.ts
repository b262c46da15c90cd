import { expect, test } from 'vitest';
import { numberTicks, timeTicks } from './ticks';

test('numbers are round, and as many as there is room for', () => {
  expect(numberTicks(0, 100, 6)).toEqual([0, 20, 40, 60, 80, 100]);
  expect(numberTicks(3, 9, 12)).toEqual([3, 4, 5, 6, 7, 8, 9]);
  expect(numberTicks(7, 7, 5)).toEqual([7]);
});

test('times are those of the clock here', () => {
  expect(timeTicks(61, 299, 5, 0)).toEqual([120, 180, 240]);
  // Half past five ahead of UTC: whole hours there.
  const shift = 5.5 * 3_600;
  expect(timeTicks(0, 4 * 3_600, 5, shift).map((time) => (time + shift) / 3_600)).toEqual([6, 7, 8, 9]);
  expect(timeTicks(0, 90 * 86_400, 4, 0).length).toBeLessThanOrEqual(4);
});
