import { expect, test } from 'vitest';
import { grade, usual } from './pairs';

test('what is usual leaves out a node with itself and who was not measured', () => {
  expect(
    usual([
      [9, 1, 5],
      [2, 9, null],
      [3, 4, 9],
    ]),
  ).toBe(3);
  expect(usual([[null]])).toBeNull();
});

test.each([
  [100, 100, false, 'good'],
  [400, 100, false, 'poor'],
  [5_000, 100, false, 'bad'],
  [100, 100, true, 'good'],
  [20, 100, true, 'poor'],
  [1, 100, true, 'bad'],
] as const)('%d beside %d is judged', (value, usualValue, isMoreBetter, expected) => {
  expect(grade(value, usualValue, isMoreBetter)).toBe(expected);
});

test('what is quicker than a switch is never poor', () => {
  expect(grade(240, 20, false)).toBe('bad');
  expect(grade(240, 20, false, 250)).toBe('good');
});
