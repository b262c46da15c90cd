import type { StepTimes } from '~/api/packSteps';

/** Rank by time, the slowest rank first. A row of cells is NaN where its rank has said nothing. */
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

/** Step times as cells, each the mean of what falls into it. */
export function heat(packed: StepTimes, bySteps: boolean, columns: number): Heat {
  const { ends, values } = packed;
  const xs = bySteps ? packed.steps : packed.times;
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let at = 0; at < xs.length; at += 1) {
    const x = xs[at] as number;
    if (x < from) from = x;
    if (x > to) to = x;
  }
  const { order, means, worsts } = slowestFirst(packed, xs);
  const made: Heat = {
    columns,
    ranks: Int32Array.from(order, (row) => packed.ranks[row] ?? 0),
    cells: new Float64Array(order.length * columns).fill(Number.NaN),
    means: Float64Array.from(order, (row) => means[row] ?? 0),
    worsts: Float64Array.from(order, (row) => worsts[row] ?? 0),
    from: from > to ? 0 : from,
    to: from > to ? 0 : to,
    low: 0,
    high: 0,
  };
  const scale = columns / (to - from || 1);
  const [sums, counts] = [new Float64Array(columns), new Uint32Array(columns)];
  for (const [place, row] of order.entries()) {
    sums.fill(0);
    counts.fill(0);
    let samples = 0;
    for (let at = row === 0 ? 0 : (ends[row - 1] as number); at < (ends[row] as number); at += 1) {
      const x = xs[at] as number;
      if (Number.isNaN(x)) continue;
      const column = Math.min(columns - 1, Math.floor((x - from) * scale));
      sums[column] = (sums[column] as number) + (values[at] as number);
      counts[column] = (counts[column] as number) + 1;
      samples += 1;
    }
    // A step is told when it ends: the time before belongs to it, unless it is the only one.
    let after = Number.NaN;
    for (let column = columns - 1; column >= 0; column -= 1) {
      if (counts[column]) after = (sums[column] as number) / (counts[column] as number);
      else if (samples === 1) after = Number.NaN;
      made.cells[place * columns + column] = after;
    }
  }
  // One slow start must not wash out all else: the scale spans the middle nine tenths.
  const sorted = some(made.cells).sort();
  const at = (share: number) => sorted[Math.round((sorted.length - 1) * share)] ?? 0;
  return { ...made, low: at(0.05), high: at(0.95) };
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
