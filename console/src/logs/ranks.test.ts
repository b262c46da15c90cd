import { expect, test } from 'vitest';
import { onlyRank, parseRanks, ranksText, wantsRank } from './ranks';

test('ranks and ranges are read, in any order', () => {
  expect(parseRanks('0,4-7')).toEqual([
    [0, 0],
    [4, 7],
  ]);
  expect(parseRanks('7-4， 1')).toEqual([
    [4, 7],
    [1, 1],
  ]);
  expect(parseRanks(' ')).toBeNull();
});

test.each(['a', '1-', '-3', '1..2', '99999999'])('%s is not understood', (text) => {
  expect(parseRanks(text)).toBeUndefined();
});

test('a filter knows its ranks', () => {
  const filter = parseRanks('0,4-7') ?? null;
  expect([0, 1, 4, 7, 8].map((rank) => wantsRank(filter, rank))).toEqual([true, false, true, true, false]);
  expect(wantsRank(null, 99)).toBe(true);
  expect([onlyRank(parseRanks('3') ?? null), onlyRank(filter), onlyRank(null)]).toEqual([3, null, null]);
});

test.each([
  [[], ''],
  [[7], '7'],
  [[3, 0, 2, 1, 7], '0-3, 7'],
  [[0, 2, 4, 5], '0, 2, 4-5'],
])('ranks %o are written %o', (ranks, text) => {
  expect(ranksText(ranks)).toBe(text);
});
