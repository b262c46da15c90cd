import { expect, test } from 'vitest';
import type { Finding } from '~/api/types';
import { bySeverity } from './severity';

const finding = (check: string, state: Finding['state']) => ({ check, state }) as Finding;

test('errors come first and what there is none of is left out', () => {
  const groups = bySeverity([finding('a', 'ok'), finding('b', 'error'), finding('c', 'ok'), finding('d', 'skipped')]);
  expect(groups.map((group) => [group.severity, group.findings.map((it) => it.check)])).toEqual([
    ['error', ['b']],
    ['ok', ['a', 'c']],
    ['skipped', ['d']],
  ]);
});
