import { text } from '~/filters/address';

/** What the address of this page holds behind the question mark. */
export type ModelsSearch = { q?: string };

export function readSearch(search: Record<string, unknown>): ModelsSearch {
  const q = text(search.q);
  return q ? { q } : {};
}
