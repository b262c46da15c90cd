import { expect, test } from 'vitest';
import { OFTEN, startPace } from './queries';

const NOW = 1_000_000;
const live: Parameters<typeof startPace>[0] = { attempt: 2, endedAt: null };
const over = (ago: number) => ({ attempt: 2, endedAt: NOW - ago });

const CASES: [string, typeof live, number | undefined, number | undefined, number | false][] = [
  ['nothing is kept yet', live, undefined, undefined, OFTEN],
  ['only the attempt before is kept', live, undefined, 1, OFTEN],
  ['the newest is kept', live, undefined, 2, false],
  ['an older one is wanted and kept', live, 1, 1, false],
  ['an older one is wanted and was never kept', live, 1, undefined, false],
  ['the task ended a moment ago, before anything came', over(5_000), undefined, undefined, OFTEN],
  ['it ended long ago', over(600_000), undefined, undefined, false],
];

test.each(CASES)('%s', (_, task, wanted, kept, pace) => {
  expect(startPace(task, wanted, kept, NOW)).toBe(pace);
});
