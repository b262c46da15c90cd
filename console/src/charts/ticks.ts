const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Seconds between ticks that people count in. */
const CLOCK = [1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE].concat([
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  7 * DAY,
  14 * DAY,
  28 * DAY,
]);

/** The round one that is no less. */
function roundUp(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}

function every(step: number, from: number, to: number, shift: number): number[] {
  const first = Math.ceil((from + shift) / step);
  const count = Math.floor((to + shift) / step) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, at) => (first + at) * step - shift);
}

/** At most so many round numbers of an axis. */
export function numberTicks(from: number, to: number, most: number): number[] {
  return every(Math.max(1, roundUp((to - from) / Math.max(most - 1, 1) || 1)), from, to, 0);
}

/** At most so many round times, in seconds; `shift` is how many seconds the clock here is ahead of UTC. */
export function timeTicks(from: number, to: number, most: number, shift: number): number[] {
  const least = (to - from) / Math.max(most - 1, 1);
  return every(CLOCK.find((step) => step >= least) ?? roundUp(least / DAY) * DAY, from, to, shift);
}
