import { expect, test } from 'vitest';
import type { Task } from '~/api/types';
import { EMPTY, type Form, formOf } from './form';
import { previewOf, requestOf, variablesOf } from './request';

const form = (more: Partial<Form>): Form => ({ ...EMPTY, ...more });

test('the request of the specification', () => {
  const request = requestOf(
    form({
      taskName: ' gpt3-pretraining ',
      datasetId: 'dataset-001',
      datasetVersionId: 'version-001',
      modelId: 'model-001',
      nodeIds: ['env-001', 'env-003', 'env-005'],
      masterNode: 'env-001',
      framework: 'deepspeed',
      dataParallel: '2',
      pipelineParallel: '4',
      tensorParallel: '8',
    }),
  );
  expect(request).toEqual({
    taskName: 'gpt3-pretraining',
    datasetId: 'dataset-001',
    datasetVersionId: 'version-001',
    modelId: 'model-001',
    launchMode: 'existing',
    distributedConfig: {
      enabled: true,
      nodeIds: ['env-001', 'env-003', 'env-005'],
      masterNode: 'env-001',
      framework: 'deepspeed',
      strategy: { dataParallel: 2, pipelineParallel: 4, tensorParallel: 8 },
    },
  });
});

test('what the server shall pick is said once, and nothing is chosen beside it', () => {
  const auto = {
    nodes: '2',
    perNode: '8',
    unit: 'gpus' as const,
    gpuType: 'A100',
    zone: '',
    labels: 'team=nlp, disk=nvme',
  };
  const asked = form({
    mode: 'auto',
    auto,
    nodeIds: ['env-001'],
    masterNode: 'env-001',
    timeLimit: '1.5',
    preemptible: false,
  });
  expect(requestOf(asked)).toEqual({
    launchMode: { auto: { nodes: 2, gpusPerNode: 8, gpuType: 'A100', labels: { team: 'nlp', disk: 'nvme' } } },
    distributedConfig: { framework: 'pytorch-ddp' },
    policies: { timeLimit: 5400, preemptible: false },
  });
  expect(previewOf(asked)?.command).toEqual({ argv: ['train.py'] });
  const { auto: empty } = EMPTY;
  expect(requestOf(form({ mode: 'auto', auto: { ...empty, perNode: '', unit: 'workers' } })).launchMode).toEqual({
    auto: { nodes: 1, workersPerNode: 1 },
  });
});

test('one environment has no master', () => {
  const request = requestOf(form({ taskName: 'a', nodeIds: ['env-001'], masterNode: 'env-001' }));
  expect(request.distributedConfig).toEqual({ nodeIds: ['env-001'], framework: 'pytorch-ddp' });
});

test('a command, its variables and what goes with it', () => {
  const request = requestOf(
    form({
      command: "sh -c 'sleep 1'",
      directory: '/work',
      variables: 'A=1\n\nB = x=y\nnonsense',
      secrets: 'HF_TOKEN=hf',
      maxRestarts: '2',
      zeroStage: '3',
      checkpointDir: '/ckpt',
    }),
  );
  expect(request.command).toEqual({
    argv: ['sh', '-c', 'sleep 1'],
    workingDirectory: '/work',
    env: { A: '1', B: ' x=y' },
    secrets: { HF_TOKEN: 'hf' },
  });
  expect(request.options).toEqual({ checkpointDir: '/ckpt', framework: { zeroStage: 3 } });
  expect(request.policies).toEqual({ restart: { maxRestarts: 2 } });
  expect(variablesOf('')).toEqual({});
});

test('a preview can be had before there are name, data and command', () => {
  expect(previewOf(EMPTY)).toBeNull();
  expect(previewOf(form({ nodeIds: ['a'] }))).toMatchObject({ taskName: 'preview', command: { argv: ['train.py'] } });
  const complete = form({ taskName: 'x', nodeIds: ['a'], datasetId: 'd', datasetVersionId: 'v' });
  expect(previewOf(complete)).toEqual(requestOf(complete));
});

const task = {
  spec: {
    name: 'bert',
    dataset: { datasetId: 'd', datasetVersionId: 'v' },
    work: { kind: 'command', argv: ['sh', '-c', 'echo a b'], env: { A: '1' }, secrets: { B: 'b' }, directory: '/w' },
    distributed: { enabled: true, nodeIds: ['b', 'a'], masterNode: 'a', framework: 'deepspeed', workers: { a: [0] } },
    options: { masterPort: 29501, framework: { zeroStage: 2, offload: true } },
    policies: { restart: { maxRestarts: 1 }, nodeLostAfter: 30 },
    labels: { team: 'nlp' },
  },
} as unknown as Task;

test('a clone asks for what the task asked for', () => {
  expect(requestOf(formOf(task))).toEqual({
    taskName: 'bert-copy',
    datasetId: 'd',
    datasetVersionId: 'v',
    launchMode: 'existing',
    distributedConfig: {
      enabled: true,
      nodeIds: ['b', 'a'],
      masterNode: 'a',
      framework: 'deepspeed',
      workers: { a: [0] },
    },
    command: { argv: ['sh', '-c', 'echo a b'], env: { A: '1' }, secrets: { B: 'b' }, workingDirectory: '/w' },
    options: { masterPort: 29501, framework: { zeroStage: 2, offload: true } },
    policies: { restart: { maxRestarts: 1 }, nodeLostAfter: 30 },
    labels: { team: 'nlp' },
  });
});
