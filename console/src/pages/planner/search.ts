/** What the address of this page holds behind the question mark: environments with commas. */
export type PlannerSearch = { model?: string; env?: string };

export function readSearch(search: Record<string, unknown>): PlannerSearch {
  return {
    ...(typeof search.model === 'string' ? { model: search.model } : {}),
    ...(typeof search.env === 'string' && search.env !== '' ? { env: search.env } : {}),
  };
}
