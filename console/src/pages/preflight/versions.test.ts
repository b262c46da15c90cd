import { expect, test } from 'vitest';
import type { Environment } from '~/api/types';
import { versionRows } from './versions';

const environment = (id: string, torch: string | null) => ({ id, versions: { torch } }) as Environment;

test('what most have is not odd, what is not known neither', () => {
  const rows = versionRows([
    environment('a', '2.4'),
    environment('b', '2.5'),
    environment('c', '2.5'),
    environment('d', null),
  ]);
  const torch = rows.find((row) => row.component === 'torch');
  expect(torch?.cells.map((cell) => cell.isOdd)).toEqual([true, false, false, false]);
});

test('of a tie the first counts', () => {
  const torch = versionRows([environment('a', '1'), environment('b', '2')])[2];
  expect(torch?.cells.map((cell) => cell.isOdd)).toEqual([false, true]);
});
