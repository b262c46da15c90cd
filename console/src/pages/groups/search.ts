import { text } from '~/filters/address';

/** What the address of this page holds behind the question mark. */
export type GroupsSearch = { group?: string; q?: string };

export function readSearch(search: Record<string, unknown>): GroupsSearch {
  const [group, q] = [text(search.group), text(search.q)];
  return { ...(group ? { group } : {}), ...(q ? { q } : {}) };
}
