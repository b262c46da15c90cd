import type { StepTimes } from '~/api/packSteps';

/** Rank by time, the slowest rank first. A cell is NaN where its rank did no step that it told of. */
export type Heat = {
  columns: number;
  ranks: Int32Array;
  cells: Float64Array;
  means: Float64Array;
  worsts: Float64Array;
  from: number;
  to: number;
  low: number;
  high: number;
};

/** The stretch of an axis, from the beginning of the first step to the end of the last; null where there is none. */
export function extentOf({ steps, times, values }: StepTimes, bySteps: boolean): [from: number, to: number] | null {
  const xs = bySteps ? steps : times;
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let at = 0; at < xs.length; at += 1) {
    const x = xs[at] as number;
    const begin = bySteps ? x : x - (values[at] as number);
    if (begin < from) from = begin;
    if (x > to) to = x;
  }
  return from > to ? null : [from, to];
}

/** What is drawn: by steps or by the clock, between which places, in how many columns. */
type HeatAxis = { bySteps: boolean; from: number; to: number; columns: number };

/** Step times as cells, each the mean of what falls into it. */
export function heat(packed: StepTimes, { bySteps, from, to, columns }: HeatAxis): Heat {
  const { ends, values } = packed;
  const xs = bySteps ? packed.steps : packed.times;
  const { order, means, worsts } = slowestFirst(packed, xs);
  const made: Heat = {
    columns,
    ranks: Int32Array.from(order, (row) => packed.ranks[row] ?? 0),
    cells: new Float64Array(order.length * columns).fill(Number.NaN),
    means: Float64Array.from(order, (row) => means[row] ?? 0),
    worsts: Float64Array.from(order, (row) => worsts[row] ?? 0),
    from,
    to,
    low: 0,
    high: 0,
  };
  const scale = columns / (to - from || 1);
  const columnOf = (x: number) => Math.max(0, Math.min(columns - 1, Math.floor((x - from) * scale)));
  const longest = PAUSE * spacing(packed, xs);
  const [sums, counts] = [new Float64Array(columns), new Uint32Array(columns)];
  for (const [place, row] of order.entries()) {
    sums.fill(0);
    counts.fill(0);
    let before = Number.NaN;
    for (let at = row === 0 ? 0 : (ends[row - 1] as number); at < (ends[row] as number); at += 1) {
      const x = xs[at] as number;
      if (Number.isNaN(x)) continue;
      const value = values[at] as number;
      const last = columnOf(x);
      sums[last] = (sums[last] as number) + value;
      counts[last] = (counts[last] as number) + 1;
      // A step is told when it ends. The time since the one before belongs to it, but not a pause in which nothing ran.
      const own = bySteps ? 0 : value;
      const begin = x - before <= Math.max(longest, own) ? before : x - own;
      const cells = place * columns;
      for (let column = columnOf(begin); column < last; column += 1)
        if (Number.isNaN(made.cells[cells + column] as number)) made.cells[cells + column] = value;
      before = x;
    }
    for (let column = 0; column < columns; column += 1)
      if (counts[column]) made.cells[place * columns + column] = (sums[column] as number) / (counts[column] as number);
  }
  // One slow start must not wash out all else: the scale spans the middle nine tenths. Nor must noise look like a slow rank:
  // full red takes half as long again as usual at least.
  const sorted = some(made.cells).sort();
  const at = (share: number) => sorted[Math.round((sorted.length - 1) * share)] ?? 0;
  return { ...made, low: at(0.05), high: Math.max(at(0.95), RED * at(0.5)) };
}

/** What takes so many times as long as usual is slow without doubt. */
const RED = 1.5;

/** So many times as long as points are usually apart is a pause. */
const PAUSE = 3;

/** How far points are usually apart, as the rank with the most of them has it. */
function spacing({ ends }: StepTimes, xs: Float64Array): number {
  let most = 0;
  const countOf = (row: number) => (ends[row] ?? 0) - (ends[row - 1] ?? 0);
  for (let row = 1; row < ends.length; row += 1) if (countOf(row) > countOf(most)) most = row;
  const end = ends[most] ?? 0;
  const own = xs.subarray(end - countOf(most), end).filter((x) => !Number.isNaN(x));
  const apart = own
    .subarray(1)
    .map((x, at) => x - (own[at] as number))
    .sort();
  return apart[apart.length >> 1] ?? 0;
}

/** The rows of ranks with a place on this axis, in the order of their means. */
function slowestFirst({ ranks, ends, values }: StepTimes, xs: Float64Array) {
  const [means, worsts] = [new Float64Array(ends.length), new Float64Array(ends.length)];
  const rows: number[] = [];
  let at = 0;
  for (let row = 0; row < ends.length; row += 1) {
    let [sum, count, worst] = [0, 0, 0];
    for (; at < (ends[row] as number); at += 1) {
      if (Number.isNaN(xs[at])) continue;
      const value = values[at] as number;
      sum += value;
      count += 1;
      if (value > worst) worst = value;
    }
    if (count === 0) continue;
    rows.push(row);
    means[row] = sum / count;
    worsts[row] = worst;
  }
  const order = rows.sort(
    (a, b) => (means[b] as number) - (means[a] as number) || (ranks[a] as number) - (ranks[b] as number),
  );
  return { order, means, worsts };
}

/** Of very many cells so many are enough to know their spread. */
const ENOUGH = 20_000;

function some(cells: Float64Array): Float64Array {
  const step = Math.max(1, Math.floor(cells.length / ENOUGH));
  const found = new Float64Array(Math.ceil(cells.length / step));
  let count = 0;
  for (let at = 0; at < cells.length; at += step) {
    const cell = cells[at] as number;
    if (Number.isNaN(cell)) continue;
    found[count] = cell;
    count += 1;
  }
  return found.subarray(0, count);
}

/** How hot a value is, 0 to 1. */
export function warmth({ low, high }: Pick<Heat, 'low' | 'high'>, value: number): number {
  return high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0;
}
