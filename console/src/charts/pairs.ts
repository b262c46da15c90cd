export type Cells = readonly (readonly (number | null)[])[];
export type Grade = 'good' | 'poor' | 'bad';

/** What is known of two: nothing of a node with itself, whether they do not reach each other, or were not tried. */
export type Pair = 'same' | 'cut' | 'untried' | number;
/** Which of those without a value were not tried: all of them, or these, by row and column. */
export type Untried = 'all' | readonly (readonly number[])[];

export function pairOf(cells: Cells, untried: Untried, from: number, to: number): Pair {
  if (from === to) return 'same';
  const value = cells[from]?.[to] ?? null;
  if (value !== null) return value > 0 ? value : 'cut';
  const isUntried = untried === 'all' || untried.some(([row, column]) => row === from && column === to);
  return isUntried ? 'untried' : 'cut';
}

/** How many times worse than usual is poor, and how many is bad. */
const POOR = 3;
const BAD = 10;

/** What is usual among those that were measured; the lower of two in the middle. */
export function usual(cells: Cells): number | null {
  const known = cells.flatMap((row, from) => row.filter((value, to) => value !== null && from !== to)) as number[];
  known.sort((a, b) => a - b);
  return known[Math.floor((known.length - 1) / 2)] ?? null;
}

/** How good a pair is beside the others. A `least` below which all are equal keeps noise from looking bad. */
export function grade(value: number, usualValue: number, isMoreBetter: boolean, least = 0): Grade {
  const times = isMoreBetter ? usualValue / Math.max(value, 1e-9) : value / Math.max(usualValue, least, 1e-9);
  if (times > BAD) return 'bad';
  return times > POOR ? 'poor' : 'good';
}
