import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo, useRef } from 'react';
import { isAway, joinCommand, NARROWED_BY, narrowed, type Order, ordered, valuesOf } from '~/api/environments';
import { Loaded } from '~/api/Loaded';
import { overviewQuery } from '~/api/queries';
import type { Environment, Page } from '~/api/types';
import { FilterBar } from '~/filters/FilterBar';
import { type FilterField, readFilters, writeFilters } from '~/filters/schema';
import { Button } from '~/ui/Button';
import { Empty } from '~/ui/Empty';
import { ServerIcon } from '~/ui/icons';
import { Select } from '~/ui/Select';
import { SkeletonRows } from '~/ui/Skeleton';
import { VirtualCards } from '~/ui/VirtualCards';
import { useWords } from '~/words';
import { EnvironmentCard } from './EnvironmentCard';
import { anchor } from './refusal';
import { isMaster, toggled, toggledRange, withMaster } from './selection';
import { type PartProps, refusedAt } from './useCreate';

const route = getRouteApi('/training/create');
const SORTS: Order[] = ['came', 'name', 'gpus', 'uptime'];
const CARD_HEIGHT = 120;

export function Environments({ form, set, refused, query }: PartProps & { query: UseQueryResult<Page<Environment>> }) {
  const { w, number } = useWords();
  const { sort = 'came' } = route.useSearch();
  const navigate = route.useNavigate();
  const error = refusedAt(refused, 'environments');
  return (
    <section id={anchor('environments')} aria-labelledby="create-choose" className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <h3 id="create-choose" className="text-sm font-medium">
          {w.create.choose}
        </h3>
        <span
          role="status"
          className="inline-flex h-5 items-center rounded-full bg-accent-soft px-2 text-xs font-medium text-accent"
        >
          {w.create.chosen(number(form.nodeIds.length))}
        </span>
        {form.nodeIds.length > 0 ? (
          <Button tone="ghost" size="sm" onClick={() => set(withMaster([], null))}>
            {w.create.clearChosen}
          </Button>
        ) : null}
        <span className="ml-auto hidden text-xs text-faint sm:inline">{w.create.shiftHint}</span>
        <Select
          aria-label={w.create.sort}
          className="!min-w-28 max-sm:ml-auto"
          value={sort}
          onChange={(next) =>
            void navigate({
              search: (before) => ({ ...before, sort: next === 'came' ? undefined : next }),
              replace: true,
            })
          }
          options={SORTS.map((value) => ({ value, label: w.create.sorts[value] }))}
        />
      </div>
      {error ? (
        <p role="alert" className="text-xs text-bad">
          {error}
        </p>
      ) : null}
      <Loaded
        query={query}
        loading={<SkeletonRows count={2} className="h-28" />}
        isEmpty={(data) => data.items.length === 0}
        empty={
          <Empty
            icon={<ServerIcon />}
            title={w.create.noEnvironments}
            hint={w.create.noEnvironmentsHint}
            command={joinCommand(window.location.origin)}
          />
        }
      >
        {(data) => <List environments={data.items} form={form} set={set} />}
      </Loaded>
    </section>
  );
}

function List({ environments, form, set }: { environments: readonly Environment[] } & Pick<PartProps, 'form' | 'set'>) {
  const { w, say } = useWords();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const overview = useQuery(overviewQuery());
  const last = useRef<string | null>(null);
  const values = readFilters(search, NARROWED_BY);
  const { q: text = '', sort = 'came' } = search;
  const change = (patch: Record<string, string | undefined>) =>
    void navigate({ search: (before) => ({ ...before, ...patch }), replace: true });
  const fields = useMemo((): FilterField[] => {
    const plain = (field: 'zone' | 'gpu' | 'image') =>
      valuesOf(environments, field).map((value) => ({ value, label: value }));
    const status = new Map(environments.map((environment) => [environment.status, say(environment.statusText)]));
    return [
      {
        key: 'status',
        label: w.create.filterStatus,
        options: [...status].map(([value, label]) => ({ value, label })),
      },
      { key: 'zone', label: w.create.filterZone, options: plain('zone') },
      { key: 'gpu', label: w.create.filterGpu, options: plain('gpu') },
      { key: 'image', label: w.create.filterImage, options: plain('image') },
    ];
  }, [environments, w, say]);
  const shown = ordered(narrowed(environments, values, text), sort);
  const names = new Map((overview.data?.activeTasks ?? []).map((task) => [task.id, task.name]));
  const free = shown.filter((one) => !isAway(one.status) || form.nodeIds.includes(one.id)).map(({ id }) => id);
  const toggle = (id: string, isRange: boolean) => {
    set(isRange ? toggledRange(form, free, id, last.current) : toggled(form, id));
    last.current = id;
  };
  return (
    <>
      <FilterBar
        fields={fields}
        values={values}
        onValues={(next) => change(writeFilters(next, NARROWED_BY))}
        text={text}
        onText={(q) => change({ q: q || undefined })}
        searchLabel={w.create.search}
      />
      {shown.length === 0 ? (
        <Empty
          title={w.create.noMatch}
          action={
            <Button onClick={() => change({ ...writeFilters({}, NARROWED_BY), q: undefined })}>
              {w.create.clearFilters}
            </Button>
          }
        />
      ) : (
        <VirtualCards
          label={w.create.choose}
          count={shown.length}
          cardWidth={272}
          cardHeight={CARD_HEIGHT}
          gap={8}
          className="-m-1 max-h-[520px] p-1"
          card={(index) => {
            const environment = shown[index];
            return environment ? (
              <EnvironmentCard
                environment={environment}
                isChosen={form.nodeIds.includes(environment.id)}
                isMaster={isMaster(form, environment.id)}
                nameOf={(id) => names.get(id) ?? id}
                onToggle={toggle}
              />
            ) : null;
          }}
        />
      )}
    </>
  );
}
