import { text } from '~/filters/address';

export const TABS = ['general', 'users', 'tokens', 'join', 'secrets', 'webhooks', 'audit'] as const;
export type TabName = (typeof TABS)[number];

/** What the address of this page holds behind the question mark. */
export type SettingsSearch = {
  tab?: TabName;
  /** Of the audit: whose doings, and how their kind begins. */
  user?: string;
  kind?: string;
};

export function readSearch(search: Record<string, unknown>): SettingsSearch {
  const tab = TABS.find((one) => one === search.tab && one !== 'general');
  const [user, kind] = [text(search.user), text(search.kind)];
  return { ...(tab ? { tab } : {}), ...(user ? { user } : {}), ...(kind ? { kind } : {}) };
}
