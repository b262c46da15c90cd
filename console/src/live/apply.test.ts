import { expect, test } from 'vitest';
import { keys } from '~/api/queries';
import type { Event, Overview } from '~/api/types';
import { touched, touchedByAll, withEvents } from './apply';

const event = (kind: string, taskId?: string, environmentId?: string) => ({
  kind,
  taskId: taskId ?? null,
  environmentId: environmentId ?? null,
});

test.each([
  [
    event('task.running', 't1'),
    [keys.overview, keys.events, keys.task('t1'), keys.tasks, keys.environments, keys.groups],
  ],
  [event('attempt.started', 't1'), [keys.overview, keys.events, keys.task('t1'), keys.tasks]],
  [
    event('environment.connected', undefined, 'e1'),
    [keys.overview, keys.events, keys.environment('e1'), keys.environments, keys.groups],
  ],
  [event('group.changed'), [keys.overview, keys.events, keys.groups]],
  [event('preflight.ended'), [keys.overview, keys.events, keys.preflights]],
  [event('user.added'), [keys.overview, keys.events, keys.users, keys.tokens]],
  [event('webhook.failing'), [keys.overview, keys.events, keys.webhooks]],
  [event('something.new'), [keys.overview, keys.events]],
])('%o touches %o', (given, expected) => {
  expect(touched(given)).toEqual(expected);
});

test('a burst asks once for each thing', () => {
  const burst = Array.from({ length: 50 }, () => event('task.running', 't1'));
  expect(touchedByAll(burst)).toEqual(touched(event('task.running', 't1')));
});

test('new events stand first, none twice, twenty at most', () => {
  const at = (cursor: number) => ({ cursor: String(cursor) }) as Event;
  const overview = { events: [at(2), at(1)] } as Overview;
  expect(withEvents(overview, [at(2), at(3), at(4)])?.events.map((one) => one.cursor)).toEqual(['4', '3', '2', '1']);
  expect(withEvents(overview, [at(1)])).toBe(overview);
  const many = Array.from({ length: 40 }, (_, index) => at(index + 3));
  expect(withEvents(overview, many)?.events).toHaveLength(20);
  expect(withEvents(undefined, many)).toBeUndefined();
});
