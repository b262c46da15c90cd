import { expect, test } from 'vitest';
import type { Task } from '~/api/types';
import { askedFor, deviceHours, exitWords, rankTone } from './facts';

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

test('what is asked for is known before there are nodes and ranks', () => {
  const workersOf = (id: string) => ({ 'env-001': 2, 'env-002': 4 })[id];
  const chosen = (nodeIds: string[], workers = {}) =>
    askedFor({ launchMode: 'existing', distributed: { enabled: true, nodeIds, workers } }, workersOf);
  expect(chosen(['env-001', 'env-002'])).toEqual({ nodes: 2, ranks: 6 });
  expect(chosen(['env-001', 'env-002'], { 'env-002': [1] })).toEqual({ nodes: 2, ranks: 3 });
  expect(chosen(['env-001', 'env-009'])).toEqual({ nodes: 2, ranks: null });
  const auto = (launchMode: Task['spec']['launchMode']) =>
    askedFor({ launchMode, distributed: { enabled: false, nodeIds: [] } }, workersOf);
  expect(auto({ auto: {} })).toEqual({ nodes: 1, ranks: 1 });
  expect(auto({ auto: { nodes: 3, gpusPerNode: 8 } })).toEqual({ nodes: 3, ranks: 24 });
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
