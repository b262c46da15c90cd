import { expect, test } from 'vitest';
import { grade, pairOf, usual } from './pairs';

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

test('pairs that were not tried are not said to be cut', () => {
  const cells = [
    [null, 120, null],
    [110, null, null],
    [null, 0, null],
  ];
  expect(pairOf(cells, [[0, 2]], 0, 2)).toBe('untried');
  expect(pairOf(cells, [[0, 2]], 2, 0)).toBe('cut');
  expect(pairOf(cells, [[0, 2]], 1, 1)).toBe('same');
  expect(pairOf(cells, [], 0, 1)).toBe(120);
  expect(pairOf(cells, 'all', 1, 2)).toBe('untried');
  expect(pairOf(cells, 'all', 2, 1)).toBe('cut');
});
