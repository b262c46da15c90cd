/** What the address of this page holds behind the question mark. */
export type TaskSearch = Record<string, never>;

export function readSearch(_search: Record<string, unknown>): TaskSearch {
  return {};
}
