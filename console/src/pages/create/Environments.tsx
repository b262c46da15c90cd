import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useCallback, useMemo, useRef } from 'react';
import { isAway, type Order } from '~/api/environments';
import { JoinCommand } from '~/api/JoinCommand';
import { Loaded } from '~/api/Loaded';
import { overviewQuery } from '~/api/queries';
import type { Environment, Page } from '~/api/types';
import { EnvironmentFilters, type NarrowPatch, NoneLeft, shownOf } from '~/filters/EnvironmentFilters';
import { Button } from '~/ui/Button';
import { Empty } from '~/ui/Empty';
import { ServerIcon } from '~/ui/icons';
import { SkeletonRows } from '~/ui/Skeleton';
import { VirtualCards } from '~/ui/VirtualCards';
import { useWords } from '~/words';
import { EnvironmentCard } from './EnvironmentCard';
import { anchor } from './refusal';
import { isMaster, toggled, toggledRange, withMaster } from './selection';
import { type PartProps, refusedAt } from './useCreate';

const route = getRouteApi('/training/create');
const FIELDS = ['status', 'zone', 'gpu', 'image'] as const;
const ORDERS: readonly Order[] = ['came', 'name', 'gpus', 'uptime'];
const CARD_HEIGHT = 120;

export function Environments({ form, set, refused, query }: PartProps & { query: UseQueryResult<Page<Environment>> }) {
  const { w, number } = useWords();
  const error = refusedAt(refused, 'environments');
  return (
    <section id={anchor('environments')} aria-labelledby="create-choose" className="flex flex-col gap-3">
      <div className="flex min-h-7 flex-wrap items-center gap-x-2 gap-y-1">
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
            command={<JoinCommand />}
          />
        }
      >
        {(data) => <List environments={data.items} form={form} set={set} />}
      </Loaded>
    </section>
  );
}

function List({ environments, form, set }: { environments: readonly Environment[] } & Pick<PartProps, 'form' | 'set'>) {
  const { w } = useWords();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const overview = useQuery(overviewQuery());
  const last = useRef<string | null>(null);
  const change = useCallback(
    (patch: NarrowPatch) =>
      void navigate({ search: (before) => ({ ...before, ...patch }), replace: true, resetScroll: false }),
    [navigate],
  );
  const shown = useMemo(() => shownOf(environments, search), [environments, search]);
  const tasks = overview.data?.activeTasks;
  const nameOf = useCallback((id: string) => tasks?.find((task) => task.id === id)?.name ?? id, [tasks]);
  const free = shown.filter((one) => !isAway(one.status) || form.nodeIds.includes(one.id)).map(({ id }) => id);
  // Cards are drawn anew only when something of theirs changes: what a press does is looked up when it comes.
  const press = useRef<(id: string, isRange: boolean) => void>(undefined);
  press.current = (id, isRange) => {
    set(isRange ? toggledRange(form, free, id, last.current) : toggled(form, id));
    last.current = id;
  };
  const toggle = useCallback((id: string, isRange: boolean) => press.current?.(id, isRange), []);
  return (
    <>
      <EnvironmentFilters
        environments={environments}
        fields={FIELDS}
        orders={ORDERS}
        search={search}
        onSearch={change}
      />
      {shown.length === 0 ? (
        <NoneLeft onSearch={change} />
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
                nameOf={nameOf}
                onToggle={toggle}
              />
            ) : null;
          }}
        />
      )}
    </>
  );
}
