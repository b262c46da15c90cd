/** What the address of this page holds behind the question mark. */
export type DatasetsSearch = { q?: string };

export function readSearch(search: Record<string, unknown>): DatasetsSearch {
  return typeof search.q === 'string' && search.q !== '' ? { q: search.q } : {};
}
