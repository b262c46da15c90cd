/** Lists of one burst as one, the ends beside each other: the last of each list come last. The order within a list stays. */
export function interleave<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  const found: T[] = [];
  for (let left = longest; left > 0; left -= 1) {
    for (const list of lists) {
      const item = list[list.length - left];
      if (item !== undefined) found.push(item);
    }
  }
  return found;
}

/** So many lines of an error stream stay together: a traceback must not be torn apart. */
const BLOCK = 400;

/** The lines of one burst: what ranks printed beside each other, then what each has to say on its error stream. */
export function burst<T extends { stream: string }>(streams: readonly (readonly T[])[]): T[] {
  const isBlock = (lines: readonly T[]) => lines[0]?.stream === 'stderr' && lines.length <= BLOCK;
  return [...interleave(streams.filter((lines) => !isBlock(lines))), ...streams.filter(isBlock).flat()];
}
