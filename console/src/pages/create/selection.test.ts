import { expect, test } from 'vitest';
import { isMaster, type Selection, toggled, toggledRange, withMaster } from './selection';

const NONE: Selection = { nodeIds: [], masterNode: null };
const ticked = (...ids: string[]) => ids.reduce(toggled, NONE);

test('the first that is ticked becomes the master', () => {
  expect(ticked('env-001', 'env-003')).toEqual({ nodeIds: ['env-001', 'env-003'], masterNode: 'env-001' });
});

test('when the master is unticked, the next becomes it', () => {
  expect(toggled(ticked('a', 'b', 'c'), 'a')).toEqual({ nodeIds: ['b', 'c'], masterNode: 'b' });
  expect(toggled(ticked('a', 'b', 'c'), 'b').masterNode).toBe('a');
  expect(toggled(ticked('a'), 'a')).toEqual(NONE);
});

test('a master that was chosen stays it while it is ticked', () => {
  const chosen = { ...ticked('a', 'b', 'c'), masterNode: 'c' };
  expect(toggled(chosen, 'a').masterNode).toBe('c');
  expect(toggled(chosen, 'c').masterNode).toBe('a');
});

test('the badge is shown only when more than one is ticked', () => {
  expect(isMaster(ticked('a'), 'a')).toBe(false);
  expect(isMaster(ticked('a', 'b'), 'a')).toBe(true);
  expect(isMaster(ticked('a', 'b'), 'b')).toBe(false);
});

const SHOWN = ['a', 'b', 'c', 'd'];
test.each<[Selection, string, string | null, string[], string | null]>([
  [ticked('a'), 'c', 'a', ['a', 'b', 'c'], 'a'],
  [ticked('d'), 'b', 'd', ['d', 'c', 'b'], 'd'],
  [ticked('a', 'b', 'c'), 'b', 'a', ['c'], 'c'],
  [ticked('a'), 'c', null, ['a', 'c'], 'a'],
  [ticked('x'), 'c', 'x', ['x', 'c'], 'x'],
])('%o, shift-click on %s after %s: %o', (before, id, last, nodeIds, masterNode) => {
  expect(toggledRange(before, SHOWN, id, last)).toEqual({ nodeIds, masterNode });
});

test('what is gone is forgotten', () => expect(withMaster(['b'], 'a')).toEqual({ nodeIds: ['b'], masterNode: 'b' }));
