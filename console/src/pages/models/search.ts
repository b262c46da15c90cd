/** What the address of this page holds behind the question mark. */
export type ModelsSearch = { q?: string };

export function readSearch(search: Record<string, unknown>): ModelsSearch {
  return typeof search.q === 'string' && search.q !== '' ? { q: search.q } : {};
}
