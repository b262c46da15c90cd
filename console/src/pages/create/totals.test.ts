import { expect, test } from 'vitest';
import type { Aggregate } from '~/api/types';
import { zh } from '~/words/zh';
import { type Summed, summaryOf } from './totals';

const environment = (count: number, model: string, cpuCores: number, memory: number, zone: string): Summed => ({
  gpus: [{ model, memory: 0, count }],
  gpuCount: count,
  workers: Array.from({ length: count }, (_, index) => ({ id: `${index}`, index })),
  cpuCores,
  memory,
  zone,
});
const pytorch = environment(2, 'A100', 16, 128, '北京可用区A');
const vision = environment(2, 'V100', 16, 128, '北京可用区A');
const llm = environment(4, 'A100', 32, 256, '深圳可用区C');
const research = environment(8, 'A100', 64, 512, '上海可用区A');

/** The lines of the card, as the words say them. */
function lines(summary: Aggregate | null): string[] {
  const w = zh.create;
  if (!summary) return [];
  return [
    summary.isDistributed ? w.distributed : w.single,
    ...(summary.isDistributed ? [`${w.nodes} ${w.countOf(String(summary.nodeCount))}`] : []),
    `${w.gpus} ${w.countOf(String(summary.totalGpus))} (${summary.gpuTypes.join(', ')})`,
    `${w.cpus} ${w.cores(String(summary.totalCpus))}`,
    `${w.memory} ${w.gigabytes(String(summary.totalMemory))}`,
    ...(summary.zones.length > 1 ? [`${w.zones} ${w.countOf(String(summary.zones.length))}`] : []),
    summary.isDistributed ? w.uses('PyTorch DDP') : w.quickStart,
  ];
}

test('场景1: 单机训练', () => {
  expect(lines(summaryOf([pytorch]))).toEqual([
    '单机训练',
    '总GPU 2 个 (A100)',
    '总CPU 16 核',
    '总内存 128 GB',
    '快速启动，预计 10 秒内开始训练',
  ]);
});

test('场景2: 分布式训练（同一可用区）', () => {
  expect(lines(summaryOf([pytorch, vision]))).toEqual([
    '分布式训练',
    '训练节点 2 个',
    '总GPU 4 个 (A100, V100)',
    '总CPU 32 核',
    '总内存 256 GB',
    '分布式训练 · 使用 PyTorch DDP',
  ]);
});

test('场景3: 跨可用区分布式训练', () => {
  expect(lines(summaryOf([pytorch, llm, research]))).toEqual([
    '分布式训练',
    '训练节点 3 个',
    '总GPU 14 个 (A100)',
    '总CPU 112 核',
    '总内存 896 GB',
    '跨可用区 3 个',
    '分布式训练 · 使用 PyTorch DDP',
  ]);
});

test('without GPUs, workers are counted; without a choice there is nothing', () => {
  const cpu = { ...pytorch, gpus: [], gpuCount: 0 };
  expect(summaryOf([cpu])).toMatchObject({ totalGpus: 0, totalWorkers: 2, gpuTypes: [] });
  expect(summaryOf([])).toBeNull();
});
