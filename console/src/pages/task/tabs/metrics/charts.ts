import type { Series } from '~/api/types';
import type { Course } from '~/charts/Plot';
import type { Sample } from '~/charts/thin';

export type ChartPlan = {
  name: string;
  isMachine: boolean;
  /** Whether it can be drawn by steps. */
  hasSteps: boolean;
  series: Series[];
};

const ORDER = ['loss', 'tokensPerS', 'stepTimeS', 'lr'];
const isMachine = (name: string) => /^(machine|rank|gpu)\./.test(name);
const MACHINE_ORDER = ['gpu.use', 'gpu.memory', 'machine.cpu', 'rank.cpus', 'rank.memory', 'machine.memory'];
const hasSteps = (list: readonly Series[]) => list.some(({ points }) => points.some(({ step }) => step != null));
/** So many lines can be told apart. */
const MOST_LINES = 8;

/** A chart has so many pixels; of thousands of ranks all together have so many points, or a page would wait for them. */
export const POINTS = 400;
const ALL_POINTS = 160_000;

/** How many points of each series are asked for. */
export function pointsFor(worldSize: number): number {
  return Math.max(2, Math.min(POINTS, Math.floor(ALL_POINTS / Math.max(worldSize, 1))));
}

/** One chart per number: what training reports first, then what machines do. */
export function plan(series: readonly Series[]): ChartPlan[] {
  const found = new Map<string, Series[]>();
  for (const one of series) {
    if (one.points.length === 0) continue;
    const list = found.get(one.name);
    if (list) list.push(one);
    else found.set(one.name, [one]);
  }
  const weight = ({ name }: { name: string }) => {
    const list = isMachine(name) ? MACHINE_ORDER : ORDER;
    const at = list.indexOf(name);
    return (isMachine(name) ? 1_000 : 0) + (at < 0 ? 100 : at);
  };
  return [...found]
    .map(([name, list]) => ({ name, isMachine: isMachine(name), hasSteps: hasSteps(list), series: list }))
    .sort((a, b) => weight(a) - weight(b) || a.name.localeCompare(b.name));
}

/** The points of a series by seconds or by steps; points without a step have no place among steps. */
export function samplesOf(series: Series, bySteps: boolean): Sample[] {
  const found: Sample[] = [];
  for (const point of series.points) {
    const x = bySteps ? point.step : point.time / 1000;
    if (x != null) found.push({ x, y: point.value });
  }
  return found;
}

/** So many steps a rank may be behind another. */
const BEHIND = 2;

/** Several ranks that say the very same are one line: ranks of data parallel training agree on their loss. */
export function sameAll(courses: readonly (readonly Sample[])[]): boolean {
  const [first, ...others] = courses;
  if (!first || others.length === 0) return false;
  // While they run, one has told of a step that another is about to tell.
  return others.every((course) => {
    const common = Math.min(course.length, first.length);
    const isLevel = Math.max(course.length, first.length) - common <= BEHIND && common > BEHIND;
    return (
      (isLevel || course.length === first.length) &&
      course.slice(0, common).every((sample, at) => sample.y === first[at]?.y)
    );
  });
}

/** Of many points the least, the median and the greatest value by stretches of the axis. */
export function spread(
  xs: Float64Array,
  ys: Float64Array,
  stretches: number,
): [least: Sample[], median: Sample[], greatest: Sample[]] {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let at = 0; at < xs.length; at += 1) {
    const x = xs[at] as number;
    if (x < from) from = x;
    if (x > to) to = x;
  }
  const width = (to - from || 1) / stretches;
  const stretchOf = (x: number) => Math.min(stretches - 1, Math.floor((x - from) / width));
  // Values by stretches, one behind the other: counted first, so that each has its place.
  const ends = new Uint32Array(stretches + 1);
  for (let at = 0; at < xs.length; at += 1) {
    const x = xs[at] as number;
    if (!Number.isNaN(x)) ends[stretchOf(x) + 1] = (ends[stretchOf(x) + 1] as number) + 1;
  }
  for (let at = 1; at <= stretches; at += 1) ends[at] = (ends[at] as number) + (ends[at - 1] as number);
  const next = ends.slice();
  const values = new Float64Array(ends[stretches] as number);
  for (let at = 0; at < xs.length; at += 1) {
    const x = xs[at] as number;
    if (Number.isNaN(x)) continue;
    const stretch = stretchOf(x);
    values[next[stretch] as number] = ys[at] as number;
    next[stretch] = (next[stretch] as number) + 1;
  }
  const found: [Sample[], Sample[], Sample[]] = [[], [], []];
  for (let stretch = 0; stretch < stretches; stretch += 1) {
    const sorted = values.subarray(ends[stretch], ends[stretch + 1]).sort();
    if (sorted.length === 0) continue;
    const x = from + (stretch + 0.5) * width;
    found[0].push({ x, y: sorted[0] as number });
    found[1].push({ x, y: sorted[(sorted.length - 1) >> 1] as number });
    found[2].push({ x, y: sorted[sorted.length - 1] as number });
  }
  return found;
}

const STRETCHES = 200;

/** The spread of points as lines. */
export function spreadLines(xs: Float64Array, ys: Float64Array, labels: readonly [string, string, string]): Course[] {
  return spread(xs, ys, STRETCHES).map((samples, at) => ({
    label: labels[at] ?? '',
    colour: [2, 0, 1][at] ?? 0,
    samples,
  }));
}

type Named = { series: Series; samples: Sample[] };

/** The lines of a chart, by who they are of. */
export function courses(
  chart: ChartPlan,
  bySteps: boolean,
  words: { nameOf: (series: Series) => string; all: string; spread: [string, string, string] },
): Course[] {
  const named: Named[] = chart.series
    .map((series) => ({ series, samples: samplesOf(series, bySteps) }))
    .filter(({ samples }) => samples.length > 0);
  const samples = named.map((one) => one.samples);
  if (sameAll(samples)) return [{ label: words.all, colour: 0, samples: samples[0] ?? [] }];
  if (named.length > MOST_LINES) {
    const all = samples.flat();
    return spreadLines(
      Float64Array.from(all, ({ x }) => x),
      Float64Array.from(all, ({ y }) => y),
      words.spread,
    );
  }
  return named.map(({ series, samples: course }, at) => ({
    label: words.nameOf(series),
    colour: series.rank ?? at,
    samples: course,
  }));
}
