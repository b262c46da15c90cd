/** Squares by the node they are on, in the order of ranks. */
export function byNode<T extends { node: string; rank: number }>(
  squares: readonly T[],
): { name: string; squares: T[] }[] {
  const found = new Map<string, T[]>();
  for (const square of squares) {
    const list = found.get(square.node);
    if (list) list.push(square);
    else found.set(square.node, [square]);
  }
  return [...found].map(([name, list]) => ({ name, squares: list.sort((a, b) => a.rank - b.rank) }));
}

/** Where the n-th square is drawn. */
export function place(at: number, perRow: number, step: number): { x: number; y: number } {
  return { x: (at % perRow) * step, y: Math.floor(at / perRow) * step };
}

/** Which square is drawn at a point; -1 beside all columns. */
export function rankAt(x: number, y: number, perRow: number, step: number): number {
  const column = Math.floor(x / step);
  return column < 0 || column >= perRow || y < 0 ? -1 : Math.floor(y / step) * perRow + column;
}
