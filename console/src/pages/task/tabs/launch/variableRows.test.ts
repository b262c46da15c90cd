import { expect, test } from 'vitest';
import { foundRows, shellVariables, variableRows, wholeCommand } from './variableRows';

const zero = { RANK: '0', MASTER_PORT: '29500', ONLY_0: 'x' };
const three = { RANK: '3', MASTER_PORT: '29500', GREETING: '你好' };

test('two ranks are compared variable by variable', () => {
  expect(variableRows(three, zero)).toEqual([
    { name: 'GREETING', value: '你好', other: null, isDifferent: true },
    { name: 'MASTER_PORT', value: '29500', other: '29500', isDifferent: false },
    { name: 'ONLY_0', value: null, other: 'x', isDifferent: true },
    { name: 'RANK', value: '3', other: '0', isDifferent: true },
  ]);
});

test('alone nothing is different', () => {
  expect(variableRows(zero, null).map(({ name, isDifferent }) => [name, isDifferent])).toEqual([
    ['MASTER_PORT', false],
    ['ONLY_0', false],
    ['RANK', false],
  ]);
});

test.each([
  ['', false, ['GREETING', 'MASTER_PORT', 'ONLY_0', 'RANK']],
  ['', true, ['GREETING', 'ONLY_0', 'RANK']],
  [' port', false, ['MASTER_PORT']],
  ['295', true, []],
  ['你', false, ['GREETING']],
  ['X', false, ['ONLY_0']],
])('%j, only what differs: %s', (text, isDifferentOnly, names) => {
  expect(foundRows(variableRows(three, zero), text, isDifferentOnly).map(({ name }) => name)).toEqual(names);
});

test('a shell takes what is copied', () => {
  expect(shellVariables({ A: "it's", B: '', C: '***' })).toBe("A='it'\\''s'\nB=''\nC='***'");
  const start = { argv: ['python', 'a b.py'], directory: '/my work', env: { 'X.Y': '1', Z: '$HOME' } };
  expect(wholeCommand(start)).toBe("cd '/my work' && env X.Y=1 'Z=$HOME' python 'a b.py'");
  expect(wholeCommand({ ...start, directory: null, env: {} })).toBe("env python 'a b.py'");
});
