import { expect, test } from 'vitest';
import { readSearch, withinAttempts } from './search';

test('an address is read, and what it should not hold falls out', () => {
  expect(
    readSearch({ tab: 'logs', ranks: 3, q: 'oom', line: '1.3.stderr.9', wrap: 'true', attempt: '2', x: 'y' }),
  ).toEqual({ tab: 'logs', ranks: '3', q: 'oom', line: '1.3.stderr.9', wrap: true, attempt: 2 });
  expect(readSearch({ tab: 'nothing', stream: 'stdin', attempt: -1, rank: 0 })).toEqual({ rank: 0 });
});

test('an attempt that is beyond the newest falls out, and is named', () => {
  const search = { tab: 'logs', attempt: 3 } as const;
  expect(withinAttempts(search, 3)).toEqual({ search, missing: null });
  expect(withinAttempts(search, 2)).toEqual({ search: { tab: 'logs' }, missing: 3 });
  expect(withinAttempts(search, 0)).toEqual({ search: { tab: 'logs' }, missing: null });
  expect(withinAttempts({}, 0)).toEqual({ search: {}, missing: null });
});
