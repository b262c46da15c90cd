import type { Series } from './types';

/** Step times of ranks in flat arrays, rank after rank: a page must not make objects of hundreds of thousands of points. */
export type StepTimes = {
  ranks: Int32Array<ArrayBuffer>;
  /** Where the points of each rank end. */
  ends: Uint32Array<ArrayBuffer>;
  /** In seconds. */
  times: Float64Array<ArrayBuffer>;
  /** NaN where a point has none. */
  steps: Float64Array<ArrayBuffer>;
  values: Float64Array<ArrayBuffer>;
};

/** Packs step times of series that come one after the other. */
export class StepPacker {
  private readonly ranks: number[] = [];
  private readonly ends: number[] = [];
  private count = 0;
  private times = new Float64Array(0);
  private steps = new Float64Array(0);
  private values = new Float64Array(0);

  add(series: readonly Series[]) {
    for (const { name, rank, points } of series) {
      if (name !== 'stepTimeS' || rank == null) continue;
      this.makeRoom(points.length);
      for (const { time, step, value } of points) {
        this.times[this.count] = time / 1000;
        this.steps[this.count] = step ?? Number.NaN;
        this.values[this.count] = value;
        this.count += 1;
      }
      this.ranks.push(rank);
      this.ends.push(this.count);
    }
  }

  packed(): StepTimes {
    return {
      ranks: Int32Array.from(this.ranks),
      ends: Uint32Array.from(this.ends),
      times: this.times.slice(0, this.count),
      steps: this.steps.slice(0, this.count),
      values: this.values.slice(0, this.count),
    };
  }

  private makeRoom(more: number) {
    const wanted = this.count + more;
    if (wanted <= this.times.length) return;
    const larger = (before: Float64Array) => {
      const made = new Float64Array(Math.max(wanted, before.length * 2));
      made.set(before);
      return made;
    };
    [this.times, this.steps, this.values] = [larger(this.times), larger(this.steps), larger(this.values)];
  }
}

/** What an answer says of step times, packed. */
export function packSteps(series: readonly Series[]): StepTimes {
  const packer = new StepPacker();
  packer.add(series);
  return packer.packed();
}

/** How many points the rank with the most of them has. */
export function mostPoints({ ends }: StepTimes): number {
  let most = 0;
  for (let index = 0; index < ends.length; index += 1)
    most = Math.max(most, (ends[index] ?? 0) - (ends[index - 1] ?? 0));
  return most;
}
