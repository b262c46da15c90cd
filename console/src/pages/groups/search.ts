/** What the address of this page holds behind the question mark. */
export type GroupsSearch = { group?: string; q?: string };

export function readSearch(search: Record<string, unknown>): GroupsSearch {
  return {
    ...(typeof search.group === 'string' ? { group: search.group } : {}),
    ...(typeof search.q === 'string' && search.q !== '' ? { q: search.q } : {}),
  };
}
