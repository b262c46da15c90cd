import { expect, test } from 'vitest';
import type { Ledger } from '~/api/types';
import { firstStepSeen, waterfall, withParts } from './stages';

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

const ledger = (ms: Partial<Record<Ledger['causes'][number]['cause'], number>>) =>
  ({ causes: Object.entries(ms).map(([cause, time]) => ({ cause, ms: time })) }) as unknown as Ledger;
const JOINED = waterfall([...START, event('attempt.started', 20), event('task.running', 30)], 70, 100);

test('the way to the first step has parts where ranks tell of them', () => {
  const parts = withParts(JOINED, ledger({ queue: 10, firstStep: 5, init: 10, import: 18, productive: 30 }), 1);
  expect(seen(parts.slice(3))).toEqual([
    ['import', 30, 55, false],
    ['rendezvous', 55, 65, false],
    ['firstStep', 65, 70, false],
  ]);
});

test('parts never reach beyond their stage, and one that lasts is open', () => {
  const open = waterfall([...START, event('attempt.started', 20), event('task.running', 30)], null, 50);
  expect(seen(withParts(open, ledger({ import: 400, init: 6 }), 1).slice(3))).toEqual([
    ['import', 30, 44, false],
    ['rendezvous', 44, 50, true],
  ]);
});

test('of a task that started twice, or whose ranks tell nothing, the stage stays whole', () => {
  expect(withParts(JOINED, ledger({ import: 18 }), 2)).toEqual(JOINED);
  expect(withParts(JOINED, ledger({ productive: 18 }), 1)).toEqual(JOINED);
  expect(withParts(JOINED, null, 1)).toEqual(JOINED);
});

test('ranks that are seen to train and report no steps came to the first one all the same', () => {
  const events = [...START, event('attempt.started', 20), event('task.running', 30)];
  const told = ledger({ import: 18, init: 10, productive: 40 });
  expect(firstStepSeen(events, told, 1)).toBe(58);
  expect(firstStepSeen(events, told, 2)).toBeNull();
  expect(firstStepSeen(events, ledger({ import: 18 }), 1)).toBeNull();
  expect(firstStepSeen(events, ledger({ productive: 40 }), 1)).toBeNull();
});
