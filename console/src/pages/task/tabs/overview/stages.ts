import type { Event, Ledger } from '~/api/types';

export type Stage =
  | 'queued'
  | 'placed'
  | 'preflight'
  | 'spawn'
  | 'join'
  | 'import'
  | 'rendezvous'
  | 'load'
  | 'firstStep';
type Bar = { stage: Stage; from: number; to: number; isOpen: boolean };

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

/** What the ledger calls the stages from the first process to the first step, in their order. */
const TOLD: readonly [Ledger['causes'][number]['cause'], Stage][] = [
  ['import', 'import'],
  ['init', 'rendezvous'],
  ['load', 'load'],
  ['firstStep', 'firstStep'],
];

type Told = { stage: Stage; ms: number }[];

/**
 * What the ledger says of the way to the first step. It sums over all attempts: of a task that was started more than once it
 * says nothing about the newest.
 */
function toldOf(ledger: Ledger | null | undefined, attempt: number): Told {
  if (!ledger || attempt !== 1) return [];
  return TOLD.flatMap(([cause, stage]) => {
    const ms = ledger.causes.find((one) => one.cause === cause)?.ms ?? 0;
    return ms > 0 ? [{ stage, ms }] : [];
  });
}

/** When ranks came to their first step that report no steps, but are seen to train; null where that is not known. */
export function firstStepSeen(
  events: readonly Pick<Event, 'kind' | 'time'>[],
  ledger: Ledger | null | undefined,
  attempt: number,
): number | null {
  const told = toldOf(ledger, attempt);
  const isTraining = ledger?.causes.some(({ cause, ms }) => cause === 'productive' && ms > 0);
  const running = events.find(({ kind }) => kind === 'task.running');
  if (!running || !isTraining || told.length === 0) return null;
  return running.time + told.reduce((sum, { ms }) => sum + ms, 0);
}

/** The last stage as its parts, where ranks tell of them. */
export function withParts(bars: readonly Bar[], ledger: Ledger | null | undefined, attempt: number): Bar[] {
  const last = bars[bars.length - 1];
  const told = toldOf(ledger, attempt);
  if (last?.stage !== 'join' || told.length === 0) return [...bars];
  const parts: Bar[] = [];
  // They end where the stage does, and fill it: what the ledger cannot place is its beginning.
  let to = last.to;
  for (const { stage, ms } of [...told].reverse()) {
    const from = Math.max(last.from, to - ms);
    if (to > from) parts.unshift({ stage, from, to, isOpen: last.isOpen && parts.length === 0 });
    to = from;
  }
  const first = parts[0];
  if (first) parts[0] = { ...first, from: last.from };
  return [...bars.slice(0, -1), ...parts];
}
