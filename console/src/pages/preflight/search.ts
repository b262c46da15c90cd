/** What the address of this page holds behind the question mark: environments with commas. */
export type PreflightSearch = { env?: string };

export function readSearch(search: Record<string, unknown>): PreflightSearch {
  return {
    ...(typeof search.env === 'string' && search.env !== '' ? { env: search.env } : {}),
  };
}
