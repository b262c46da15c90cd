import { expect, test } from 'vitest';
import { pick, type Want } from './pick';

const made = (id: string, count: number, model: string, zone: string, free = count) => ({
  id,
  status: free === count ? ('running' as const) : ('busy' as const),
  zone,
  gpus: [{ model, memory: 0, count }],
  gpuCount: count,
  workers: Array.from({ length: count }, (_, index) => ({ id: `${id}-${index}`, index })),
  workersFree: free,
});
const ALL = [
  made('small', 2, 'A100', 'a'),
  made('mixed', 2, 'V100', 'a'),
  made('four', 4, 'A100', 'b'),
  made('other', 2, 'A100', 'b'),
  made('taken', 8, 'A100', 'a', 0),
  made('huge', 16, 'H100', 'c'),
];

test.each<[Want, string[] | null]>([
  [{ count: 1, gpu: '' }, ['small']],
  [{ count: 2, gpu: 'V100' }, ['mixed']],
  [{ count: 4, gpu: '' }, ['four']],
  [{ count: 3, gpu: '' }, ['four']],
  [{ count: 6, gpu: 'A100' }, ['four', 'other']],
  [{ count: 6, gpu: '' }, ['huge']],
  [{ count: 8, gpu: 'A100' }, ['four', 'small', 'other']],
  [{ count: 18, gpu: '' }, ['huge', 'other']],
  [{ count: 9, gpu: 'A100' }, null],
  [{ count: 27, gpu: '' }, null],
])('%o: %o', (want, found) => {
  const picked = pick(ALL, want);
  expect(picked && [...picked].sort()).toEqual(found && [...found].sort());
});
