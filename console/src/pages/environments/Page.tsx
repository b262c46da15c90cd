import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import { ORDERS } from '~/api/environments';
import { JoinCommand } from '~/api/JoinCommand';
import { JoinDialog } from '~/api/JoinDialog';
import { Loaded } from '~/api/Loaded';
import { environmentsQuery } from '~/api/queries';
import { useDenied } from '~/api/useWhyNot';
import { EnvironmentFilters, type NarrowPatch, NoneLeft, shownOf } from '~/filters/EnvironmentFilters';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Choice } from '~/ui/Choice';
import { Empty } from '~/ui/Empty';
import { PlusIcon, ServerIcon } from '~/ui/icons';
import { PageHeader } from '~/ui/PageHeader';
import { Skeleton } from '~/ui/Skeleton';
import { VirtualCards } from '~/ui/VirtualCards';
import { useWords } from '~/words';
import { Details } from './Details';
import { EnvironmentCard } from './EnvironmentCard';
import { EnvironmentRows } from './EnvironmentRows';

const route = getRouteApi('/environments');
const FIELDS = ['status', 'zone', 'gpu', 'label'] as const;

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
  const { w, number } = useWords();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery(environmentsQuery());
  const [isJoining, setJoining] = useState(false);
  const denied = useDenied('join');
  const { view = 'cards' } = search;
  const change = useCallback(
    (patch: NarrowPatch) =>
      void navigate({ search: (before) => ({ ...before, ...patch }), replace: true, resetScroll: false }),
    [navigate],
  );
  const show = useCallback((id: string) => change({ env: id }), [change]);
  const all = query.data?.items;
  const shown = useMemo(() => shownOf(all ?? [], search), [all, search]);
  const opened = all?.find((environment) => environment.id === search.env);
  return (
    <>
      <PageHeader
        title={w.environments.title}
        note={all && all.length > 0 ? w.environments.counted(number(shown.length), number(all.length)) : undefined}
        actions={
          <Button tone="primary" icon={<PlusIcon />} disabledReason={denied} onClick={() => setJoining(true)}>
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
              command={<JoinCommand />}
            />
          </Card>
        }
      >
        {(data) => (
          <div className="flex flex-col gap-4">
            <EnvironmentFilters
              environments={data.items}
              fields={FIELDS}
              orders={ORDERS}
              search={search}
              onSearch={change}
            >
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
            </EnvironmentFilters>
            {shown.length === 0 ? (
              <Card>
                <NoneLeft onSearch={change} />
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
