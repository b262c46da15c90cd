/** What the address of this page holds behind the question mark. */
export type ModelsSearch = Record<string, never>;

export function readSearch(_search: Record<string, unknown>): ModelsSearch {
  return {};
}
