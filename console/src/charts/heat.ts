import type { Sample } from './thin';

export type HeatRow = { rank: number; cells: (number | null)[]; mean: number; worst: number };
export type Heat = { rows: HeatRow[]; from: number; to: number; low: number; high: number };

/** Courses of ranks as cells, the slowest rank first. A cell is the mean of what falls into it. */
export function heat(courses: readonly { rank: number; samples: readonly Sample[] }[], columns: number): Heat {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { samples } of courses) {
    for (const { x } of samples) {
      if (x < from) from = x;
      if (x > to) to = x;
    }
  }
  if (from > to) return { rows: [], from: 0, to: 0, low: 0, high: 0 };
  const span = to - from || 1;
  const sums = new Float64Array(columns);
  const counts = new Uint32Array(columns);
  const rows = courses.map(({ rank, samples }) => {
    sums.fill(0);
    counts.fill(0);
    let [sum, worst] = [0, 0];
    for (const { x, y } of samples) {
      const at = Math.min(columns - 1, Math.floor(((x - from) / span) * columns));
      sums[at] = (sums[at] ?? 0) + y;
      counts[at] = (counts[at] ?? 0) + 1;
      sum += y;
      if (y > worst) worst = y;
    }
    const cells = new Array<number | null>(columns).fill(null);
    for (let at = 0; at < columns; at += 1) if (counts[at]) cells[at] = (sums[at] ?? 0) / (counts[at] ?? 1);
    // A step is told when it ends: the time before belongs to it.
    for (let at = columns - 2; at >= 0; at -= 1) cells[at] ??= samples.length > 1 ? (cells[at + 1] ?? null) : null;
    return { rank, cells, mean: samples.length > 0 ? sum / samples.length : 0, worst };
  });
  rows.sort((a, b) => b.mean - a.mean || a.rank - b.rank);
  // One slow start must not wash out all else: the scale spans the middle nine tenths.
  const sorted = Float64Array.from(some(rows)).sort();
  const at = (share: number) => sorted[Math.round((sorted.length - 1) * share)] ?? 0;
  return { rows, from, to, low: at(0.05), high: at(0.95) };
}

/** Of very many cells so many are enough to know their spread. */
const ENOUGH = 20_000;

function some(rows: readonly HeatRow[]): number[] {
  const step = Math.max(1, Math.floor((rows.length * (rows[0]?.cells.length ?? 0)) / ENOUGH));
  const found: number[] = [];
  let count = 0;
  for (const row of rows) {
    for (const cell of row.cells) {
      if (cell === null) continue;
      if (count % step === 0) found.push(cell);
      count += 1;
    }
  }
  return found;
}

/** How hot a value is, 0 to 1. */
export function warmth({ low, high }: Pick<Heat, 'low' | 'high'>, value: number): number {
  return high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0;
}
