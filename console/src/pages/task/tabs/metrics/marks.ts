import type { Event, Series } from '~/api/types';
import type { Mark } from '~/charts/events';

const DRAWN = /^(task|attempt|restart|environment|agent|rank|checkpoint)/;
/** More lines than these hide what they stand on. */
const MOST = 200;

/** What happened to a task, as lines over its charts. */
export function marksOf(events: readonly Event[], say: (text: Event['text']) => string): Mark[] {
  return events
    .filter((event) => DRAWN.test(event.kind) && !/created|queued/.test(event.kind))
    .slice(-MOST)
    .map((event) => ({
      x: event.time / 1000,
      label: say(event.text),
      tone: /failed|lost|refused/.test(event.kind) ? 'bad' : /restart|stop/.test(event.kind) ? 'warn' : 'plain',
    }));
}

/** The same over steps: each at the step that was the last by then. What happened before the first step has no place. */
export function marksBySteps(marks: readonly Mark[], series: readonly Series[]): Mark[] {
  const told = series.find(({ points }) => points.some(({ step }) => step != null));
  const points = told?.points.filter(({ step }) => step != null) ?? [];
  return marks.flatMap((mark) => {
    const step = points.findLast(({ time }) => time / 1000 <= mark.x)?.step;
    return step == null ? [] : [{ ...mark, x: step }];
  });
}
