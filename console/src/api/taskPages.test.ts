import { expect, test } from 'vitest';
import { pagesOf, renewed, type TaskPage, type TaskPages } from './taskPages';

const page = (ids: string, nextPageToken: string | null = null) =>
  ({ items: [...ids].map((id) => ({ id })), nextPageToken, total: 9 }) as TaskPage;
const ids = (data: TaskPages) => data.pages.map((one) => one.items.map((row) => row.id).join(''));
const held: TaskPages = { pages: [page('abc', 'c'), page('def', 'f'), page('gh')], pageParams: [undefined, 'c', 'f'] };

test.each<[string, string | undefined, TaskPage, string[]]>([
  ['the same rows', undefined, page('abc', 'c'), ['abc', 'def', 'gh']],
  ['one is new before them', undefined, page('zab', 'b'), ['zabc', 'def', 'gh']],
  ['one in the middle is gone', 'c', page('dfg', 'g'), ['abc', 'dfg']],
  ['none is where it was', undefined, page('xyz', 'z'), ['xyz']],
  ['the last page has grown', 'f', page('ghi', 'i'), ['abc', 'def', 'ghi']],
  ['a page that is not held', 'q', page('r'), ['abc', 'def', 'gh']],
])('%s', (_, token, fresh, expected) => {
  const after = renewed(held, token, fresh);
  expect(ids(after)).toEqual(expected);
  expect(after.pageParams).toEqual(held.pageParams.slice(0, expected.length));
});

test('a joined page goes on where the old one did', () => {
  expect(renewed(held, undefined, page('zab', 'b')).pages[0]?.nextPageToken).toBe('c');
});

test.each<[number, number, [number, number]]>([
  [0, 2, [0, 0]],
  [1, 3, [0, 1]],
  [4, 7, [1, 2]],
  [7, 99, [2, 2]],
])('rows %i to %i are of the pages %o', (first, last, expected) =>
  expect(pagesOf(held.pages, first, last)).toEqual(expected),
);
