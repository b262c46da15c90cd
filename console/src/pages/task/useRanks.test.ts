import { expect, test } from 'vitest';
import type { LogChunk } from '~/api/types';
import { lastLines } from './useRanks';

const chunk = (rank: number, stream: 'stdout' | 'stderr', text: string): LogChunk => ({
  attempt: 1,
  rank,
  stream,
  offset: 0,
  nextOffset: 0,
  length: 0,
  text,
});

test('a rank has one last line: of its output, or of its errors when it failed', () => {
  const chunks = [
    chunk(0, 'stdout', '\r10%\r\u001b[32m20%\u001b[0m\n'),
    chunk(0, 'stderr', 'a warning\n'),
    chunk(1, 'stdout', 'step 3\n'),
    chunk(1, 'stderr', 'RuntimeError: no\n'),
    chunk(2, 'stderr', 'only this\n'),
  ];
  expect([...lastLines(chunks, (rank) => rank === 1)]).toEqual([
    [0, '20%'],
    [1, 'RuntimeError: no'],
    [2, 'only this'],
  ]);
});
