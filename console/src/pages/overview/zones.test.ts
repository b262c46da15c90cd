import { expect, test } from 'vitest';
import type { Environment } from '~/api/types';
import { byZone, squareState } from './zones';

const environment = (name: string, zone: string | null, free = 1) =>
  ({ name, zone, workersFree: free, workers: [{ id: `${name}-0`, index: 0 }], status: 'running' }) as Environment;

test('zones and their environments are in order, those without a zone last', () => {
  const zones = byZone([
    environment('gn10', 'b'),
    environment('x', null),
    environment('gn9', 'b', 0),
    environment('y', 'a'),
  ]);
  expect(zones.map((zone) => zone.name)).toEqual(['a', 'b', null]);
  expect(zones[1]?.environments.map((member) => member.name)).toEqual(['gn9', 'gn10']);
  expect(zones[1]).toMatchObject({ free: 1, workers: 2 });
});

test('a silent machine is shown as silent, whatever its workers did', () => {
  const one = environment('a', null);
  expect(squareState(one, true)).toBe('busy');
  expect(squareState(one, false)).toBe('free');
  expect(squareState({ ...one, status: 'suspect' }, true)).toBe('suspect');
  expect(squareState({ ...one, status: 'lost' }, true)).toBe('offline');
});
