import type { Sample } from './thin';

export type HeatRow = { rank: number; cells: (number | null)[]; mean: number; worst: number };
export type Heat = { rows: HeatRow[]; from: number; to: number; low: number; high: number };

/** Courses of ranks as cells, the slowest rank first. A cell is the mean of what falls into it. */
export function heat(courses: readonly { rank: number; samples: readonly Sample[] }[], columns: number): Heat {
  const all = courses.flatMap((course) => course.samples);
  const from = all.reduce((least, sample) => Math.min(least, sample.x), Number.POSITIVE_INFINITY);
  const to = all.reduce((most, sample) => Math.max(most, sample.x), Number.NEGATIVE_INFINITY);
  if (all.length === 0) return { rows: [], from: 0, to: 0, low: 0, high: 0 };
  const span = to - from || 1;
  const rows = courses.map(({ rank, samples }) => {
    const sums = new Array<number>(columns).fill(0);
    const counts = new Array<number>(columns).fill(0);
    let [sum, worst] = [0, 0];
    for (const { x, y } of samples) {
      const at = Math.min(columns - 1, Math.floor(((x - from) / span) * columns));
      sums[at] = (sums[at] ?? 0) + y;
      counts[at] = (counts[at] ?? 0) + 1;
      sum += y;
      worst = Math.max(worst, y);
    }
    const cells = sums.map((value, at) => (counts[at] ? value / (counts[at] ?? 1) : null));
    // A step is told when it ends: the time before belongs to it.
    for (let at = columns - 2; at >= 0; at -= 1) cells[at] ??= samples.length > 1 ? (cells[at + 1] ?? null) : null;
    return { rank, cells, mean: samples.length > 0 ? sum / samples.length : 0, worst };
  });
  rows.sort((a, b) => b.mean - a.mean || a.rank - b.rank);
  // One slow start must not wash out all else: the scale spans the middle nine tenths.
  const sorted = rows.flatMap((row) => row.cells.filter((cell) => cell !== null)).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.round((sorted.length - 1) * share)] ?? 0;
  return { rows, from, to, low: at(0.05), high: at(0.95) };
}

/** How hot a value is, 0 to 1. */
export function warmth({ low, high }: Pick<Heat, 'low' | 'high'>, value: number): number {
  return high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0;
}
