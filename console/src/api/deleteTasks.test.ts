import { expect, test } from 'vitest';
import { deleteTasks } from './deleteTasks';
import type { BulkAnswer } from './types';

/** A server that refuses each task so many times. */
function refusing(code: number, times: Record<string, number>) {
  const asked: string[][] = [];
  const ask = (ids: string[]): Promise<BulkAnswer> => {
    const before = asked.length;
    asked.push(ids);
    const results = ids.map((id) => ({ id, code: before < (times[id] ?? 0) ? code : 200, message: '' }));
    const succeeded = results.filter((result) => result.code === 200).length;
    return Promise.resolve({ results, succeeded, failed: results.length - succeeded });
  };
  return { ask, asked };
}

test('a task whose processes are still being ended is deleted a moment later', async () => {
  const { ask, asked } = refusing(409, { b: 2 });
  const { results, succeeded, failed } = await deleteTasks(['a', 'b', 'c'], ask, 0);
  expect(asked).toEqual([['a', 'b', 'c'], ['b'], ['b']]);
  expect([results.map(({ id, code }) => `${id} ${code}`), succeeded, failed]).toEqual([
    ['a 200', 'b 200', 'c 200'],
    3,
    0,
  ]);
});

test('what is refused for good is not asked again, and patience ends', async () => {
  const forbidden = refusing(403, { b: 99 });
  expect(await deleteTasks(['a', 'b'], forbidden.ask, 0)).toMatchObject({ succeeded: 1, failed: 1 });
  expect(forbidden.asked.length).toBe(1);
  const stuck = refusing(409, { b: 99 });
  expect(await deleteTasks(['a', 'b'], stuck.ask, 0)).toMatchObject({ succeeded: 1, failed: 1 });
  expect(stuck.asked.length).toBe(11);
});
