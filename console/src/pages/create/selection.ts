/** What is ticked, in the order in which it was, and which of them is the master. */
export type Selection = { nodeIds: string[]; masterNode: string | null };

/** Ticks or unticks one. The first ticked is the master; when the master is unticked, the first that is left becomes it. */
export function toggled(before: Selection, id: string): Selection {
  return before.nodeIds.includes(id)
    ? withMaster(
        before.nodeIds.filter((one) => one !== id),
        before.masterNode,
      )
    : withMaster([...before.nodeIds, id], before.masterNode);
}

/** Sets several at once, as a click with shift does: all between `last` and `id` become what `id` becomes. */
export function toggledRange(before: Selection, shown: readonly string[], id: string, last: string | null): Selection {
  const [from, to] = [last === null ? -1 : shown.indexOf(last), shown.indexOf(id)];
  if (from < 0 || to < 0) return toggled(before, id);
  const between = shown.slice(Math.min(from, to), Math.max(from, to) + 1);
  const range = from <= to ? between : between.reverse();
  if (before.nodeIds.includes(id)) {
    return withMaster(
      before.nodeIds.filter((one) => !range.includes(one)),
      before.masterNode,
    );
  }
  return withMaster([...before.nodeIds, ...range.filter((one) => !before.nodeIds.includes(one))], before.masterNode);
}

/** These and no others, with the master of before where it is among them. */
export function withMaster(nodeIds: string[], master: string | null): Selection {
  return { nodeIds, masterNode: master !== null && nodeIds.includes(master) ? master : (nodeIds[0] ?? null) };
}

/** The badge is there only where there is something to tell apart. */
export function isMaster(selection: Selection, id: string): boolean {
  return selection.nodeIds.length > 1 && selection.masterNode === id;
}
