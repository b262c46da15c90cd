export const SORTS = ['createdAt desc', 'updatedAt desc', 'name asc', 'status asc', 'priority desc'] as const;
export type Sort = (typeof SORTS)[number];
export const FILTERS = ['status', 'environment'] as const;

/** What the address of this page holds behind the question mark. */
export type TrainingSearch = {
  q?: string;
  status?: string;
  environment?: string;
  sort?: Sort;
  compare?: string;
  /** A comparison goes by steps else. */
  x?: 'time';
};

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

export function readSearch(search: Record<string, unknown>): TrainingSearch {
  const q = typeof search.q === 'number' ? String(search.q) : text(search.q);
  const [status, environment, compare] = [text(search.status), text(search.environment), text(search.compare)];
  const sort = SORTS.find((one) => one === search.sort && one !== SORTS[0]);
  return {
    ...(q ? { q } : {}),
    ...(status ? { status } : {}),
    ...(environment ? { environment } : {}),
    ...(sort ? { sort } : {}),
    ...(compare ? { compare } : {}),
    ...(compare && search.x === 'time' ? { x: 'time' as const } : {}),
  };
}
