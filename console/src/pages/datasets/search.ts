import { text } from '~/filters/address';

/** What the address of this page holds behind the question mark. */
export type DatasetsSearch = { q?: string };

export function readSearch(search: Record<string, unknown>): DatasetsSearch {
  const q = text(search.q);
  return q ? { q } : {};
}
