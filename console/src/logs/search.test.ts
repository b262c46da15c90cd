import { expect, test } from 'vitest';
import { parseRanks } from './ranks';
import { hitsOf, stepTo, untilFound } from './search';

const match = (rank: number, offset: number) => ({ rank, stream: 'stdout' as const, offset, text: '' });
const pages = [
  { attempt: 1, items: [match(0, 5), match(3, 9)] },
  { attempt: 1, items: [match(3, 40)] },
];

test('matches of the wanted ranks have the keys of their lines', () => {
  expect(hitsOf(pages, parseRanks('3') ?? null).map((hit) => hit.key)).toEqual(['1.3.stdout.9', '1.3.stdout.40']);
});

test('one goes through matches around the ends', () => {
  const hits = hitsOf(pages, null);
  const step = (shown: string | null, by: 1 | -1) => stepTo(hits, shown, by)?.key;
  expect(step(null, 1)).toBe('1.0.stdout.5');
  expect(step(null, -1)).toBe('1.3.stdout.40');
  expect(step('1.3.stdout.40', 1)).toBe('1.0.stdout.5');
  expect(step('1.0.stdout.5', -1)).toBe('1.3.stdout.40');
  expect(stepTo([], null, 1)).toBeNull();
});

test('a search goes on where nothing was found so far, and ends where all was looked at', async () => {
  const asked: (string | undefined)[] = [];
  const server =
    (pages: Record<string, { items: number[]; nextPageToken?: string }>) => (token: string | undefined) => {
      asked.push(token);
      return Promise.resolve(pages[token ?? ''] ?? { items: [] });
    };
  const found = { items: [7], nextPageToken: 'c' };
  const pages = { '': { items: [], nextPageToken: 'a' }, a: { items: [], nextPageToken: 'b' }, b: found };
  expect(await untilFound(undefined, server(pages))).toBe(found);
  expect(asked).toEqual([undefined, 'a', 'b']);
  expect(await untilFound('z', server({ z: { items: [], nextPageToken: 'y' } }))).toEqual({ items: [] });
});
