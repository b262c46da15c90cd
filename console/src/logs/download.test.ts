import { afterEach, expect, test, vi } from 'vitest';
import { download, fileName, partsOf, type Wanted } from './download';
import { parseRanks } from './ranks';

const wanted = (ranks: string, more: Partial<Wanted> = {}): Wanted => ({
  taskId: 'task-1',
  ranks: parseRanks(ranks) ?? null,
  stream: null,
  attempt: null,
  worldSize: 8,
  ...more,
});
const questions = (asked: Wanted) => partsOf(asked).map((path) => path.slice(path.indexOf('?')));

test('every chosen rank is read, and no other', () => {
  expect(questions(wanted('0,4-6'))).toEqual(['?rank=0', '?rank=4', '?rank=5', '?rank=6']);
  expect(questions(wanted('3', { stream: 'stderr', attempt: 2 }))).toEqual(['?rank=3&stream=stderr&attempt=2']);
});

test('all ranks are one answer', () => expect(questions(wanted(''))).toEqual(['?']));

test('ranks that the task does not have are not asked for', () => {
  expect(questions(wanted('6-9999999'))).toEqual(['?rank=6', '?rank=7']);
  expect(questions(wanted('2, 2-3, 1'))).toEqual(['?rank=1', '?rank=2', '?rank=3']);
});

test.each([
  ['', 'task-1.log'],
  ['3', 'task-1-rank-3.log'],
  ['0,4-7', 'task-1-rank-0,4-7.log'],
])('a file of ranks %o is called %s', (ranks, name) => expect(fileName(wanted(ranks))).toBe(name));

afterEach(() => vi.unstubAllGlobals());

test('a server that is away is told as such, not in the words of the browser', async () => {
  vi.stubGlobal('window', {});
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')));
  await expect(download(wanted(''))).rejects.toMatchObject({ id: 'unreachable' });
});
