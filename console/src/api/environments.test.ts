import { expect, test } from 'vitest';
import { gpuText, holders, narrowed, type Order, ordered, valuesOf } from './environments';
import type { Environment } from './types';

const made = (name: string, more: Partial<Environment>) =>
  ({ id: name, name, status: 'running', gpus: [], gpuCount: 0, labels: {}, workers: [], ...more }) as Environment;
const a100 = (count: number) => ({ gpus: [{ model: 'A100', memory: 0, count }], gpuCount: count });
const ALL = [
  made('env-10', { zone: '北京可用区A', ...a100(2), upSince: 50, image: 'pytorch', labels: { team: 'nlp' } }),
  made('env-9', { zone: '深圳可用区C', ...a100(4), upSince: 10, status: 'busy', heartbeatAgeMs: 900 }),
  made('cpu', { zone: '北京可用区A', status: 'offline' }),
];
const names = (found: Environment[]) => found.map((environment) => environment.name).join(' ');

test.each<[Record<string, string[]>, string, string]>([
  [{}, '', 'env-10 env-9 cpu'],
  [{ zone: ['北京可用区A'] }, '', 'env-10 cpu'],
  [{ zone: ['北京可用区A'], gpu: ['A100'] }, '', 'env-10'],
  [{ status: ['busy', 'offline'] }, '', 'env-9 cpu'],
  [{ label: ['team=nlp'] }, '', 'env-10'],
  [{ image: ['pytorch'] }, '', 'env-10'],
  [{}, ' 4X a100', 'env-9'],
  [{}, '深圳', 'env-9'],
])('%o and "%s" leave %s', (wanted, text, left) => expect(names(narrowed(ALL, wanted, text))).toBe(left));

test.each<[Order, string]>([
  ['came', 'env-10 env-9 cpu'],
  ['name', 'cpu env-9 env-10'],
  ['gpus', 'env-9 env-10 cpu'],
  ['uptime', 'env-9 env-10 cpu'],
  ['status', 'env-10 env-9 cpu'],
])('by %s: %s', (order, left) => expect(names(ordered(ALL, order))).toBe(left));

test('values are listed once; GPUs and holders are put into words', () => {
  expect(valuesOf(ALL, 'zone')).toEqual(['北京可用区A', '深圳可用区C']);
  expect(valuesOf(ALL, 'label')).toEqual(['team=nlp']);
  expect(ALL.map(gpuText)).toEqual(['2x A100', '4x A100', null]);
  const worker = (taskId: string | null) => ({ id: '', index: 0, taskId });
  expect(holders({ workers: [worker('task-1'), worker(null), worker('task-1')] })).toEqual(['task-1']);
});
