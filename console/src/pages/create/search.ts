import { NARROWED_BY, type NarrowedBy, ORDERS, type Order } from '~/api/environments';
import { text } from '~/filters/address';
import { MODES, type Mode } from './modes';

export const TABS = ['yaml', 'cli', 'curl'] as const;
export type TextTab = (typeof TABS)[number];

/** What the address of this page holds behind the question mark. */
export type CreateSearch = {
  /** The task that is cloned. */
  from?: string;
  /** Environments to begin with, with commas between them. */
  env?: string;
  /** The model to begin with. */
  model?: string;
  mode?: Mode;
  tab?: TextTab;
  q?: string;
  sort?: Order;
} & Partial<Record<NarrowedBy, string>>;

export function readSearch(search: Record<string, unknown>): CreateSearch {
  const found: CreateSearch = {};
  for (const key of ['from', 'env', 'model', 'q', ...NARROWED_BY] as const) {
    const value = text(search[key]);
    if (value) found[key] = value;
  }
  const mode = MODES.find((one) => one === search.mode);
  const tab = TABS.find((one) => one === search.tab);
  const sort = ORDERS.find((one) => one === search.sort);
  return { ...found, ...(mode ? { mode } : {}), ...(tab ? { tab } : {}), ...(sort ? { sort } : {}) };
}
