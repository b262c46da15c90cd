import { expect, test } from 'vitest';
import type { CreateRequest } from '~/api/types';
import { cliOf, curlOf, yamlOf } from './texts';

const REQUEST = {
  taskName: "it's gpt3",
  datasetId: 'dataset-001',
  datasetVersionId: 'version-001',
  launchMode: 'existing',
  distributedConfig: {
    enabled: true,
    nodeIds: ['env-001', 'env-003'],
    masterNode: 'env-003',
    framework: 'deepspeed',
    strategy: { dataParallel: 2 },
  },
  command: { argv: ['train.py', '--lr', '1e-4'], env: { A: 'x y' } },
  options: { framework: { zeroStage: 2 } },
  policies: { restart: { maxRestarts: 2 } },
} as unknown as CreateRequest;

test('YAML', () => {
  expect(yamlOf(REQUEST)).toBe(`taskName: "it's gpt3"
datasetId: dataset-001
datasetVersionId: version-001
launchMode: existing
distributedConfig:
  enabled: true
  nodeIds:
    - env-001
    - env-003
  masterNode: env-003
  framework: deepspeed
  strategy:
    dataParallel: 2
command:
  argv:
    - train.py
    - "--lr"
    - "1e-4"
  env:
    A: "x y"
options:
  framework:
    zeroStage: 2
policies:
  restart:
    maxRestarts: 2`);
  expect(yamlOf({ a: [], b: {}, yes: 'no', c: '7' })).toBe('a: []\nb: {}\n"yes": "no"\nc: "7"');
});

test('the command line', () => {
  const names: Record<string, string> = { 'env-001': 'pytorch-dev-env', 'env-003': 'llm-training-env' };
  expect(cliOf(REQUEST, 'http://127.0.0.1:7070', (id) => names[id] ?? id).split(' \\\n  ')).toEqual([
    'fermi task create',
    '--server http://127.0.0.1:7070',
    "--name 'it'\\''s gpt3'",
    '--env pytorch-dev-env',
    '--env llm-training-env',
    '--master llm-training-env',
    '--framework deepspeed',
    '--dataset dataset-001',
    '--dataset-version version-001',
    '--data-parallel 2',
    '--set zeroStage=2',
    '--max-restarts 2',
    "--env-var 'A=x y'",
    '-- train.py --lr 1e-4',
  ]);
});

test('cURL carries the request as it is, the token of the shell and a key', () => {
  const text = curlOf(REQUEST, 'http://127.0.0.1:7070', 'c0ffee');
  expect(text).toContain('http://127.0.0.1:7070/api/v1/training-tasks');
  expect(text.split(' \\\n  ').slice(1, 3)).toEqual([
    '-H "Authorization: Bearer $FERMI_TOKEN"',
    "-H 'Idempotency-Key: c0ffee'",
  ]);
  const body = text.slice(text.indexOf("-d '") + 4, -1).replaceAll("'\\''", "'");
  expect(JSON.parse(body)).toEqual(REQUEST);
});
