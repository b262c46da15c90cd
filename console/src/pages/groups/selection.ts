/** Ticks after a click: with shift all between the last one and this take its state. */
export function ticks(
  before: ReadonlySet<string>,
  shown: readonly string[],
  id: string,
  isTicked: boolean,
  last: string | null,
): Set<string> {
  const after = new Set(before);
  const [from, to] = [last === null ? -1 : shown.indexOf(last), shown.indexOf(id)];
  const range = from < 0 || to < 0 ? [id] : shown.slice(Math.min(from, to), Math.max(from, to) + 1);
  for (const one of range) {
    if (isTicked) after.add(one);
    else after.delete(one);
  }
  return after;
}
