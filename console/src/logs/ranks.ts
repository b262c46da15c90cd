/** Ranks that are wanted, such as `0,4-7`. Null: all. */
export type RankFilter = readonly (readonly [number, number])[] | null;

/** Reads `0,4-7`; undefined where it cannot be read. */
export function parseRanks(text: string): RankFilter | undefined {
  const parts = text.split(/[,，\s]+/).filter(Boolean);
  if (parts.length === 0) return null;
  const found: [number, number][] = [];
  for (const part of parts) {
    const match = /^(\d{1,7})(?:-(\d{1,7}))?$/.exec(part);
    if (!match) return undefined;
    const from = Number(match[1]);
    const to = match[2] === undefined ? from : Number(match[2]);
    found.push(from <= to ? [from, to] : [to, from]);
  }
  return found;
}

export function wantsRank(filter: RankFilter, rank: number): boolean {
  return filter === null || filter.some(([from, to]) => rank >= from && rank <= to);
}

/** The rank, where it is just one: the server can be asked for it alone. */
export function onlyRank(filter: RankFilter): number | null {
  const [first, ...others] = filter ?? [];
  return first && others.length === 0 && first[0] === first[1] ? first[0] : null;
}

/** The wanted ranks of a task that has so many, in their order; null: all. */
export function chosenRanks(filter: RankFilter, worldSize: number): number[] | null {
  if (filter === null) return null;
  return Array.from({ length: worldSize }, (_, rank) => rank).filter((rank) => wantsRank(filter, rank));
}

/** Ranks as a person writes them, `0-3, 7`: what `parseRanks` reads. */
export function ranksText(ranks: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const rank of [...ranks].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && rank <= last[1] + 1) last[1] = rank;
    else runs.push([rank, rank]);
  }
  return runs.map(([first, end]) => (first === end ? `${first}` : `${first}-${end}`)).join(', ');
}
