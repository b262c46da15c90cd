import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { joinCommand, NARROWED_BY, narrowed, ORDERS, ordered, valuesOf } from '~/api/environments';
import { Loaded } from '~/api/Loaded';
import { environmentsQuery } from '~/api/queries';
import { FilterBar } from '~/filters/FilterBar';
import { type FilterField, readFilters, writeFilters } from '~/filters/schema';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Choice } from '~/ui/Choice';
import { Empty } from '~/ui/Empty';
import { PlusIcon, ServerIcon } from '~/ui/icons';
import { PageHeader } from '~/ui/PageHeader';
import { Select } from '~/ui/Select';
import { Skeleton } from '~/ui/Skeleton';
import { VirtualCards } from '~/ui/VirtualCards';
import { useWords } from '~/words';
import { Details } from './Details';
import { EnvironmentCard } from './EnvironmentCard';
import { EnvironmentRows } from './EnvironmentRows';
import { JoinDialog } from './JoinDialog';

const route = getRouteApi('/environments');

function Loading() {
  return (
    <div aria-busy="true" className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,300px),1fr))] gap-3">
      {['a', 'b', 'c', 'd', 'e', 'f'].map((key) => (
        <Skeleton key={key} className="h-44" />
      ))}
    </div>
  );
}

export function Page() {
  const { w, say, number } = useWords();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(environmentsQuery());
  const [isJoining, setJoining] = useState(false);
  const { q: text = '', sort = 'came', view = 'cards' } = search;
  const values = readFilters(search, NARROWED_BY);
  const change = (patch: Record<string, string | undefined>) =>
    void navigate({ search: (before) => ({ ...before, ...patch }), replace: true });
  const all = query.data?.items;
  const fields = useMemo((): FilterField[] => {
    const plain = (field: 'zone' | 'gpu' | 'label') =>
      valuesOf(all ?? [], field).map((value) => ({ value, label: value }));
    const status = new Map((all ?? []).map((environment) => [environment.status, say(environment.statusText)]));
    return [
      {
        key: 'status',
        label: w.environments.filterStatus,
        options: [...status].map(([value, label]) => ({ value, label })),
      },
      { key: 'zone', label: w.environments.filterZone, options: plain('zone') },
      { key: 'gpu', label: w.environments.filterGpu, options: plain('gpu') },
      { key: 'label', label: w.environments.filterLabel, options: plain('label') },
    ];
  }, [all, w, say]);
  const shown = ordered(narrowed(all ?? [], values, text), sort);
  const show = (id: string) => change({ env: id });
  const opened = all?.find((environment) => environment.id === search.env);
  return (
    <>
      <PageHeader
        title={w.environments.title}
        note={all && all.length > 0 ? w.environments.counted(number(shown.length), number(all.length)) : undefined}
        actions={
          <Button tone="primary" icon={<PlusIcon />} onClick={() => setJoining(true)}>
            {w.environments.join}
          </Button>
        }
      />
      <Loaded
        query={query}
        loading={<Loading />}
        isEmpty={(data) => data.items.length === 0}
        empty={
          <Card>
            <Empty
              icon={<ServerIcon />}
              title={w.environments.empty}
              hint={w.environments.emptyHint}
              command={joinCommand(window.location.origin)}
            />
          </Card>
        }
      >
        {() => (
          <div className="flex flex-col gap-4">
            <FilterBar
              fields={fields}
              values={values}
              onValues={(next) => change(writeFilters(next, NARROWED_BY))}
              text={text}
              onText={(q) => change({ q: q || undefined })}
              searchLabel={w.environments.search}
            >
              <Select
                aria-label={w.environments.sort}
                className="!min-w-28"
                value={sort}
                onChange={(next) => change({ sort: next === 'came' ? undefined : next })}
                options={ORDERS.map((value) => ({ value, label: w.environments.sorts[value] }))}
              />
              <Choice
                label={w.environments.view}
                isLabelHidden
                value={view}
                onChange={(next) => change({ view: next === 'cards' ? undefined : next })}
                options={[
                  { value: 'cards', label: w.environments.cards },
                  { value: 'table', label: w.environments.table },
                ]}
              />
            </FilterBar>
            {shown.length === 0 ? (
              <Card>
                <Empty
                  title={w.environments.noMatch}
                  action={
                    <Button onClick={() => change({ ...writeFilters({}, NARROWED_BY), q: undefined })}>
                      {w.environments.clearFilters}
                    </Button>
                  }
                />
              </Card>
            ) : view === 'table' ? (
              <Card>
                <EnvironmentRows environments={shown} asOf={query.dataUpdatedAt} onShow={show} />
              </Card>
            ) : (
              <VirtualCards
                label={w.environments.title}
                count={shown.length}
                cardWidth={300}
                cardHeight={188}
                className="-m-1 max-h-[calc(100dvh-176px)] min-h-60 p-1"
                card={(index) => {
                  const environment = shown[index];
                  return environment ? (
                    <EnvironmentCard environment={environment} asOf={query.dataUpdatedAt} onShow={show} />
                  ) : null;
                }}
              />
            )}
          </div>
        )}
      </Loaded>
      {isJoining ? <JoinDialog onClose={() => setJoining(false)} /> : null}
      {opened ? (
        <Details environment={opened} asOf={query.dataUpdatedAt} onClose={() => change({ env: undefined })} />
      ) : null}
    </>
  );
}
