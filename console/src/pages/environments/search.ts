import { NARROWED_BY, type NarrowedBy, ORDERS, type Order } from '~/api/environments';
import { text } from '~/filters/address';

/** What the address of this page holds behind the question mark. */
export type EnvironmentsSearch = {
  view?: 'table';
  q?: string;
  sort?: Order;
  /** The environment whose details are shown. */
  env?: string;
} & Partial<Record<NarrowedBy, string>>;

export function readSearch(search: Record<string, unknown>): EnvironmentsSearch {
  const found: EnvironmentsSearch = {};
  for (const key of ['q', 'env', ...NARROWED_BY] as const) {
    const value = text(search[key]);
    if (value) found[key] = value;
  }
  const sort = ORDERS.find((order) => order === search.sort);
  return { ...found, ...(search.view === 'table' ? { view: 'table' } : {}), ...(sort ? { sort } : {}) };
}
