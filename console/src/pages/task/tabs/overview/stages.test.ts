import { expect, test } from 'vitest';
import { waterfall } from './stages';

const event = (kind: string, time: number) => ({ kind, time });
const START = [event('task.created', 0), event('task.queued', 5), event('task.starting', 10)];
const seen = (bars: ReturnType<typeof waterfall>) => bars.map((bar) => [bar.stage, bar.from, bar.to, bar.isOpen]);

test('a start is a row of stages up to the first step', () => {
  const events = [...START, event('attempt.started', 20), event('task.running', 30)];
  expect(seen(waterfall(events, 70, 100))).toEqual([
    ['queued', 0, 10, false],
    ['placed', 10, 20, false],
    ['spawn', 20, 30, false],
    ['join', 30, 70, false],
  ]);
});

test('what lasts still is open', () => {
  expect(seen(waterfall(START.slice(0, 2), null, 40))).toEqual([['queued', 0, 40, true]]);
});

test('a task that ended without a step says nothing of it', () => {
  const events = [...START, event('attempt.started', 20), event('task.running', 30), event('task.failed', 90)];
  expect(waterfall(events, null, 100).map((bar) => bar.stage)).toEqual(['queued', 'placed', 'spawn']);
});

test('a task that trains without a word of its steps says nothing of the first', () => {
  const events = [...START, event('attempt.started', 20), event('task.running', 30)];
  expect(waterfall(events, null, 90, false).map((bar) => bar.stage)).toEqual(['queued', 'placed', 'spawn']);
  expect(waterfall(events, null, 90).map((bar) => bar.stage)).toEqual(['queued', 'placed', 'spawn', 'join']);
});

test('a restart begins anew', () => {
  const events = [...START, event('attempt.started', 20), event('task.restarting', 50), event('attempt.started', 60)];
  expect(seen(waterfall(events, null, 80))).toEqual([['spawn', 60, 80, true]]);
});

test('events in the wrong order are put right', () => {
  const events = [...START, event('attempt.started', 31), event('task.running', 30)];
  expect(waterfall(events, null, 40).map((bar) => bar.stage)).toEqual(['queued', 'placed', 'join', 'spawn']);
});
