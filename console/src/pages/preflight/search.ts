/** What the address of this page holds behind the question mark. */
export type PreflightSearch = Record<string, never>;

export function readSearch(_search: Record<string, unknown>): PreflightSearch {
  return {};
}
