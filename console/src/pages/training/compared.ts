import { ApiError } from '~/api/error';
import type { Metrics, Task } from '~/api/types';
import type { Course } from '~/charts/Plot';

type Asked<T> = { data?: T | undefined; error: Error | null };

/** One of several tasks: what is known of it, or why nothing is. */
export type Compared = { id: string; task: Task | undefined; metrics: Metrics | undefined; error: Error | null };

/** Why something is missing. What is held stays while nobody answers, which the head of the page tells. */
function missing({ data, error }: Asked<unknown> = { error: null }): Error | null {
  const isAway = error instanceof ApiError && error.isUnreachable;
  return isAway && data !== undefined ? null : error;
}

/** Each task keeps its place, so that its name and colour stay its own when another is missing. */
export function compared(
  ids: readonly string[],
  tasks: readonly Asked<Task>[],
  metrics: readonly Asked<Metrics>[],
): Compared[] {
  return ids.map((id, at) => ({
    id,
    task: tasks[at]?.data,
    metrics: metrics[at]?.data,
    error: missing(tasks[at]) ?? missing(metrics[at]),
  }));
}

/** One number of each task that reports it, by steps or by the seconds since each task has begun. */
export function coursesOf(all: readonly Compared[], name: string, byTime = false): Course[] {
  return all.flatMap(({ id, task, metrics }, at) => {
    const points = metrics?.series.find((one) => one.name === name)?.points ?? [];
    const begun = task?.startedAt ?? points[0]?.time ?? 0;
    const samples = points.flatMap(({ step, time, value }) =>
      byTime ? [{ x: (time - begun) / 1000, y: value }] : step == null ? [] : [{ x: step, y: value }],
    );
    return samples.length > 0 ? [{ label: `${task?.name ?? id} · ${id}`, colour: at, samples }] : [];
  });
}
