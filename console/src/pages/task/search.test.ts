import { expect, test } from 'vitest';
import { readSearch } from './search';

test('an address is read, and what it should not hold falls out', () => {
  expect(
    readSearch({ tab: 'logs', ranks: 3, q: 'oom', line: '1.3.stderr.9', wrap: 'true', attempt: '2', x: 'y' }),
  ).toEqual({ tab: 'logs', ranks: '3', q: 'oom', line: '1.3.stderr.9', wrap: true, attempt: 2 });
  expect(readSearch({ tab: 'nothing', stream: 'stdin', attempt: -1, rank: 0 })).toEqual({ rank: 0 });
});
