import { expect, test } from 'vitest';
import type { Task } from '~/api/types';
import { deviceHours, exitWords, rankTone, shellLine } from './facts';

const HOUR = 3_600_000;
const task = (gpu: number | null) =>
  ({
    worldSize: 2,
    attempts: [{ startedAt: 0, endedAt: HOUR }, { startedAt: 2 * HOUR }],
    rankMap: [{ gpu }, { gpu }],
  }) as Pick<Task, 'attempts' | 'rankMap' | 'worldSize'>;

test('hours count devices over all attempts', () => {
  expect(deviceHours(task(0), 2.5 * HOUR)).toEqual({ hours: 3, isGpu: true });
  expect(deviceHours(task(null), 2.5 * HOUR)).toEqual({ hours: 3, isGpu: false });
});

test('a command line can be pasted', () => {
  expect(shellLine(['sh', '-c', "echo it's $RANK"])).toBe(`sh -c 'echo it'\\''s $RANK'`);
});

test('how a process ended is said in the words of the page', () => {
  const say = (text: string | null) => exitWords(text, (code) => `退出码 ${code}`);
  expect(['exit code 1', 'SIGKILL', 'SIGSEGV (core dumped)', null].map(say)).toEqual([
    '退出码 1',
    'SIGKILL',
    'SIGSEGV (core dumped)',
    '',
  ]);
});

test('who failed is told from those that ended with it', () => {
  const failed = { rank: 1, state: 'failed' } as const;
  expect([rankTone(failed, 1), rankTone(failed, 0), rankTone(failed, null)]).toEqual(['failed', 'victim', 'failed']);
  expect(rankTone({ ...failed, state: 'stopped' }, 0)).toBe('stopped');
});
