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
