import { type ReactNode, useMemo } from 'react';
import { NARROWED_BY, type NarrowedBy, narrowed, type Order, ordered, valuesOf } from '~/api/environments';
import type { Environment } from '~/api/types';
import { Button } from '~/ui/Button';
import { Empty } from '~/ui/Empty';
import { Select } from '~/ui/Select';
import { useWords } from '~/words';
import { FilterBar } from './FilterBar';
import { type FilterField, readFilters, writeFilters } from './schema';

/** What the address says of a list of environments. */
type NarrowSearch = { q?: string; sort?: Order } & Partial<Record<NarrowedBy, string>>;
export type NarrowPatch = Record<string, string | undefined>;

/** Those that the address asks for, in its order. */
export const shownOf = (environments: readonly Environment[], search: NarrowSearch) =>
  ordered(narrowed(environments, readFilters(search, NARROWED_BY), search.q ?? ''), search.sort ?? 'came');

type EnvironmentFiltersProps = {
  environments: readonly Environment[];
  fields: readonly NarrowedBy[];
  orders: readonly Order[];
  search: NarrowSearch;
  onSearch: (patch: NarrowPatch) => void;
  children?: ReactNode;
};

/** Search, filters with the values that there are, and the order. */
export function EnvironmentFilters(props: EnvironmentFiltersProps) {
  const { environments, fields, orders, search, onSearch, children } = props;
  const { w, say } = useWords();
  const { sort = 'came' } = search;
  const menus = useMemo((): FilterField[] => {
    const status = new Map<string, string>(environments.map((one) => [one.status, say(one.statusText)]));
    return fields.map((key) => ({
      key,
      label: w.environments.filters[key],
      options: valuesOf(environments, key).map((value) => ({
        value,
        label: (key === 'status' ? status.get(value) : null) ?? value,
      })),
    }));
  }, [environments, fields, w, say]);
  return (
    <FilterBar
      fields={menus}
      values={readFilters(search, NARROWED_BY)}
      onValues={(next) => onSearch(writeFilters(next, NARROWED_BY))}
      text={search.q ?? ''}
      onText={(q) => onSearch({ q: q || undefined })}
      searchLabel={w.environments.search}
      searchShort={w.environments.searchShort}
    >
      <Select
        aria-label={w.environments.sort}
        className="!min-w-28"
        value={sort}
        onChange={(next) => onSearch({ sort: next === 'came' ? undefined : next })}
        options={orders.map((value) => ({ value, label: w.environments.sorts[value] }))}
      />
      {children}
    </FilterBar>
  );
}

/** Nothing is left by the filters, and a way back. */
export function NoneLeft({ onSearch }: Pick<EnvironmentFiltersProps, 'onSearch'>) {
  const { w } = useWords();
  return (
    <Empty
      title={w.environments.noMatch}
      action={
        <Button onClick={() => onSearch({ ...writeFilters({}, NARROWED_BY), q: undefined })}>
          {w.environments.clearFilters}
        </Button>
      }
    />
  );
}
