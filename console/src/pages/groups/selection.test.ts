import { expect, test } from 'vitest';
import { ticks } from './selection';

const SHOWN = ['a', 'b', 'c', 'd'];

test.each([
  [[], 'b', true, null, ['b']],
  [['b'], 'b', false, null, []],
  [['a'], 'c', true, 'a', ['a', 'b', 'c']],
  [['a', 'b', 'c'], 'a', false, 'c', []],
  [['x'], 'd', true, 'gone', ['x', 'd']],
])('%o, %s → %s after %s', (before, id, isTicked, last, after) => {
  expect([...ticks(new Set(before), SHOWN, id, isTicked, last)].sort()).toEqual([...after].sort());
});
