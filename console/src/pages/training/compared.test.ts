import { expect, test } from 'vitest';
import { unreachable } from '~/api/error';
import type { Metrics, Task } from '~/api/types';
import { compared, coursesOf } from './compared';

const task = (id: string, name: string) => ({ data: { id, name } as Task, error: null });
const loss = (value: number) => ({
  data: { series: [{ name: 'loss', points: [{ step: 1, value }, { value: 9 }] }] } as unknown as Metrics,
  error: null,
});
const gone = { error: new Error('no such task') };

test('a task that is missing takes no name or colour from the others', () => {
  const ids = ['task-1', 'task-2', 'task-3'];
  const all = compared(ids, [gone, task('task-2', 'b'), task('task-3', 'c')], [gone, loss(2), loss(3)]);
  expect(coursesOf(all, 'loss')).toEqual([
    { label: 'b · task-2', colour: 1, samples: [{ x: 1, y: 2 }] },
    { label: 'c · task-3', colour: 2, samples: [{ x: 1, y: 3 }] },
  ]);
  expect(all.filter((one) => one.error).map((one) => one.id)).toEqual(['task-1']);
});

test('a task whose numbers are refused is told of as well', () => {
  const all = compared(['task-1', 'task-2'], [task('task-1', 'a'), task('task-2', 'b')], [loss(1), gone]);
  expect(all.map((one) => one.error?.message)).toEqual([undefined, 'no such task']);
  expect(coursesOf(all, 'loss').map((course) => course.label)).toEqual(['a · task-1']);
});

test('of a server that is away no task is missing of which something is held', () => {
  const away = { error: unreachable() };
  const held = { ...task('task-1', 'a'), ...away };
  const all = compared(['task-1', 'task-2'], [held, away], [{ ...loss(1), ...away }, away]);
  expect(all.map((one) => one.error === null)).toEqual([true, false]);
});

test('by time every task begins at nothing', () => {
  const begun = (id: string, startedAt: number) => ({ data: { id, name: id, startedAt } as Task, error: null });
  const told = (time: number) => ({
    data: { series: [{ name: 'loss', points: [{ step: 7, time, value: 1 }] }] } as unknown as Metrics,
    error: null,
  });
  const all = compared(['a', 'b'], [begun('a', 1_000), begun('b', 60_000)], [told(3_000), told(65_000)]);
  expect(coursesOf(all, 'loss', true).map(({ samples }) => samples)).toEqual([[{ x: 2, y: 1 }], [{ x: 5, y: 1 }]]);
});
