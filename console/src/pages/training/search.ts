import { text } from '~/filters/address';

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

export function readSearch(search: Record<string, unknown>): TrainingSearch {
  const [q, status] = [text(search.q), text(search.status)];
  const [environment, compare] = [text(search.environment), text(search.compare)];
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
