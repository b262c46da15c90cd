/** What the address of this page holds behind the question mark. */
export type CreateSearch = Record<string, never>;

export function readSearch(_search: Record<string, unknown>): CreateSearch {
  return {};
}
