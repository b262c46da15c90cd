import { text } from '~/filters/address';

/** What the address of this page holds behind the question mark: environments with commas, and the preflight that is shown. */
export type PreflightSearch = { env?: string; id?: string };

export function readSearch(search: Record<string, unknown>): PreflightSearch {
  const [env, id] = [text(search.env), text(search.id)];
  return { ...(env ? { env } : {}), ...(id ? { id } : {}) };
}
