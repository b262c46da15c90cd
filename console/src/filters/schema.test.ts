import { expect, test } from 'vitest';
import { readFilters, toggled, toQuery, writeFilters } from './schema';

const NAMES = ['status', 'zone'];

test('choices survive the way through the address', () => {
  const values = { status: ['running', 'busy'] };
  expect(writeFilters(values, NAMES)).toEqual({ status: 'running,busy', zone: undefined });
  expect(readFilters({ status: 'running,busy', other: 'x' }, NAMES)).toEqual(values);
  expect(readFilters({ status: '', zone: 7 }, NAMES)).toEqual({ zone: ['7'] });
});

test.each([
  [{}, '', undefined],
  [{}, '  ', undefined],
  [{ status: ['running', 'busy'] }, '', 'status=running,busy'],
  [{ zone: ['a b'] }, 'my "task', 'zone="a b" name~"my task"'],
])('%o and %s make %s', (values, text, filter) => expect(toQuery(values, text)).toBe(filter));

test('ticking adds, takes away, and replaces where only one may be', () => {
  const many = { key: 'status', label: '', options: [] };
  const one = { ...many, isSingle: true };
  expect(toggled({ status: ['a'] }, many, 'b')).toEqual({ status: ['a', 'b'] });
  expect(toggled({ status: ['a'] }, many, 'a')).toEqual({});
  expect(toggled({ status: ['a'] }, one, 'b')).toEqual({ status: ['b'] });
});
