import { expect, test } from 'vitest';
import type { Event, Series } from '~/api/types';
import { marksBySteps, marksOf } from './marks';

const event = (kind: string, time: number) => ({ kind, time, text: { 'zh-CN': kind, en: kind } }) as Event;
const EVENTS = [
  event('task.created', 0),
  event('task.running', 1_000),
  event('attempt.failed', 5_000),
  event('task.restarting', 5_100),
  event('webhook.delivered', 6_000),
  event('task.succeeded', 90_000),
];
const MARKS = marksOf(EVENTS, (text) => text.en);

test('what says nothing about a course is not drawn over it', () => {
  expect(MARKS.map(({ label, x, tone }) => [label, x, tone])).toEqual([
    ['task.running', 1, 'plain'],
    ['attempt.failed', 5, 'bad'],
    ['task.restarting', 5.1, 'warn'],
    ['task.succeeded', 90, 'plain'],
  ]);
});

test('over steps an event stands at the step that was the last by then, also where a restart goes back', () => {
  const point = (time: number, step: number | null) => ({ time, step, value: 1 });
  const silent = { name: 'machine.cpu', points: [point(0, null)] };
  const loss = { name: 'loss', points: [point(2_000, 1), point(4_000, 2), point(7_000, 1), point(80_000, 9)] };
  const placed = marksBySteps(MARKS, [silent, loss] as Series[]);
  expect(placed.map(({ label, x }) => [label, x])).toEqual([
    ['attempt.failed', 2],
    ['task.restarting', 2],
    ['task.succeeded', 9],
  ]);
  expect(marksBySteps(MARKS, [silent] as Series[])).toEqual([]);
});
