/** What the address of this page holds behind the question mark: environments with commas, and the preflight that is shown. */
export type PreflightSearch = { env?: string; id?: string };

export function readSearch(search: Record<string, unknown>): PreflightSearch {
  return {
    ...(typeof search.env === 'string' && search.env !== '' ? { env: search.env } : {}),
    ...(typeof search.id === 'string' && search.id !== '' ? { id: search.id } : {}),
  };
}
