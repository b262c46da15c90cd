export type Sample = { x: number; y: number };

/** Fewer samples that look the same: of each stretch its lowest and its highest, in their order. */
export function thin(samples: readonly Sample[], most: number): Sample[] {
  if (samples.length <= most || most < 4) return [...samples];
  const stretches = Math.floor((most - 2) / 2);
  const inner = samples.slice(1, -1);
  const found: Sample[] = [];
  const take = (sample: Sample | undefined) => {
    if (sample) found.push(sample);
  };
  take(samples[0]);
  for (let at = 0; at < stretches; at += 1) {
    const part = inner.slice(
      Math.floor((at * inner.length) / stretches),
      Math.floor(((at + 1) * inner.length) / stretches),
    );
    let [low, high] = [0, 0];
    part.forEach((sample, index) => {
      if (sample.y < (part[low]?.y ?? Number.POSITIVE_INFINITY)) low = index;
      if (sample.y > (part[high]?.y ?? Number.NEGATIVE_INFINITY)) high = index;
    });
    take(part[Math.min(low, high)]);
    if (low !== high) take(part[Math.max(low, high)]);
  }
  take(samples[samples.length - 1]);
  return found;
}

/** Several courses over one axis: every x once, and null where a course has no value. */
export function join(courses: readonly (readonly Sample[])[]): { xs: number[]; ys: (number | null)[][] } {
  const xs = [...new Set(courses.flatMap((course) => course.map((sample) => sample.x)))].sort((a, b) => a - b);
  const place = new Map(xs.map((x, at) => [x, at]));
  const ys = courses.map((course) => {
    const values: (number | null)[] = xs.map(() => null);
    for (const sample of course) values[place.get(sample.x) ?? 0] = sample.y;
    return values;
  });
  return { xs, ys };
}
