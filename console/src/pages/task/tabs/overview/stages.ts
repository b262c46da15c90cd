import type { Event } from '~/api/types';

export type Stage = 'queued' | 'placed' | 'preflight' | 'spawn' | 'join';
export type Bar = { stage: Stage; from: number; to: number; isOpen: boolean };

const BEGINS: readonly [string, Stage][] = [
  ['task.created', 'queued'],
  ['task.queued', 'queued'],
  ['task.starting', 'placed'],
  ['preflight.started', 'preflight'],
  ['attempt.started', 'spawn'],
  ['task.running', 'join'],
];
const ENDS = ['task.succeeded', 'task.failed', 'task.stopped', 'attempt.failed', 'task.restarting'];

/** How the newest start went, stage by stage; a stage that lasts still is open and ends now. */
export function waterfall(
  events: readonly Pick<Event, 'kind' | 'time'>[],
  firstStep: number | null,
  now: number,
  tellsSteps = true,
): Bar[] {
  const bars: Bar[] = [];
  let ended = false;
  for (const { kind, time } of [...events].sort((a, b) => a.time - b.time)) {
    const stage = BEGINS.find(([name]) => name === kind)?.[1];
    const last = bars[bars.length - 1];
    if (ENDS.includes(kind)) {
      if (last?.isOpen) bars[bars.length - 1] = { ...last, to: time, isOpen: false };
      ended = true;
    } else if (stage && (ended || stage !== last?.stage)) {
      // A task that starts again begins at the left once more.
      if (ended || stage === 'queued') bars.length = 0;
      else if (last) bars[bars.length - 1] = { ...last, to: time, isOpen: false };
      ended = false;
      bars.push({ stage, from: time, to: now, isOpen: true });
    }
  }
  const last = bars[bars.length - 1];
  if (last?.stage === 'join' && firstStep !== null && firstStep >= last.from && (last.isOpen || firstStep <= last.to)) {
    bars[bars.length - 1] = { ...last, to: firstStep, isOpen: false };
  } else if (last?.stage === 'join' && firstStep === null && !(last.isOpen && tellsSteps)) {
    // It ended without having told of a step, or tells of none: nothing is known of this stage.
    bars.pop();
  }
  return bars;
}
