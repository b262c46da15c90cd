import { expect, test } from 'vitest';
import { taken } from './plan';

test.each([
  ['ddp', 'pytorch-ddp', ''],
  ['fsdp_grad_op', 'pytorch-fsdp', ''],
  ['zero2', 'deepspeed', '2'],
  ['three_d', 'megatron-lm', ''],
])('%s is %s', (strategy, framework, zeroStage) => {
  expect(taken({ strategy, microBatch: 4 })).toEqual({ framework, zeroStage, microBatchSize: '4' });
});

test('what is unknown is not taken', () => expect(taken({ strategy: 'other', microBatch: 1 })).toBeNull());
