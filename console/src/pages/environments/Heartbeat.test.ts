import { expect, test } from 'vitest';
import { ageNow } from './Heartbeat';

test.each([
  [500, 1_000, 1_000, 500],
  [500, 1_000, 4_000, 3_500],
  [500, 2_000, 1_000, 500],
])('%d ms old at %d is, at %d, %d ms old', (age, asOf, now, seen) => expect(ageNow(age, asOf, now)).toBe(seen));
