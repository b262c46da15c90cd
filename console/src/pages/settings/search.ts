/** What the address of this page holds behind the question mark. */
export type SettingsSearch = Record<string, never>;

export function readSearch(_search: Record<string, unknown>): SettingsSearch {
  return {};
}
