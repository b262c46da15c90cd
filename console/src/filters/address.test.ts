import { expect, test } from 'vitest';
import { strictly, text } from './address';

const read = strictly((search) => (search.tab === 'logs' ? { tab: 'logs' } : {}));

/** What a page meets: the router lays what was read over what stands in the address. */
const met = (search: Record<string, unknown>) => ({ ...search, ...read(search) });

test('what a reader does not take is gone', () => {
  expect(met({ tab: 'logs', q: { a: 1 } })).toEqual({ tab: 'logs', q: undefined });
  expect(met({ tab: 'nonsense' })).toEqual({ tab: undefined });
  expect(met({})).toEqual({});
});

test('what looks like a number is a text too', () => {
  expect(['bert', '', 7, null, { a: 1 }].map(text)).toEqual(['bert', undefined, '7', undefined, undefined]);
});
