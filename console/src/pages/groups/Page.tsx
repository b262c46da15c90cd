import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { groupsQuery, workersQuery } from '~/api/groups';
import { JoinCommand } from '~/api/JoinCommand';
import { Loaded } from '~/api/Loaded';
import { useDenied } from '~/api/useWhyNot';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { classes } from '~/ui/classes';
import { Empty } from '~/ui/Empty';
import { GroupIcon, PlusIcon } from '~/ui/icons';
import { PageHeader } from '~/ui/PageHeader';
import { Skeleton, SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { CreateDialog } from './CreateDialog';
import { GroupCard } from './GroupCard';
import { RankPanel } from './RankPanel';
import { WorkerList } from './WorkerList';

const route = getRouteApi('/groups');

export function Page() {
  const { w } = useWords();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const groups = useQuery(groupsQuery());
  const workers = useQuery(workersQuery());
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [isCreating, setCreating] = useState(false);
  const denied = useDenied('create');
  const named = groups.data?.items.filter((group) => !group.isDefault) ?? [];
  const shown = named.find((group) => group.id === search.group) ?? named[0];
  const choose = (id: string) =>
    void navigate({ search: (before) => ({ ...before, group: id }), replace: true, resetScroll: false });
  const create = (
    <Button tone="primary" icon={<PlusIcon />} disabledReason={denied} onClick={() => setCreating(true)}>
      {w.groups.create}
    </Button>
  );
  return (
    <>
      <PageHeader title={w.groups.title} note={w.groups.about} actions={create} />
      <div className="flex flex-col gap-4">
        <Loaded
          query={groups}
          loading={<Skeleton className="h-40" />}
          isEmpty={() => named.length === 0}
          empty={
            <Card>
              <Empty
                icon={<GroupIcon />}
                title={w.groups.noGroups}
                hint={w.groups.noGroupsHint}
                command="fermi group create llm gn6-0 gn6-1"
              />
            </Card>
          }
        >
          {() => (
            <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,300px),1fr))] gap-4">
              {named.map((group) => (
                <GroupCard
                  key={group.id}
                  group={group}
                  isShown={group.id === shown?.id}
                  onShow={() => choose(group.id)}
                />
              ))}
            </ul>
          )}
        </Loaded>
        <div className={classes('grid items-start gap-4', shown && 'xl:grid-cols-2')}>
          <Card title={w.groups.workers}>
            <Loaded
              query={workers}
              loading={<SkeletonRows count={6} />}
              isEmpty={(data) => data.items.length === 0}
              empty={
                <Empty
                  title={w.groups.noWorkers}
                  hint={w.groups.noWorkersHint}
                  command={<JoinCommand joining={{ name: 'gn6', workers: '2' }} />}
                />
              }
            >
              {(data) => (
                <WorkerList
                  workers={data.items}
                  groups={groups.data?.items ?? []}
                  ticked={ticked}
                  onTicked={setTicked}
                  onCreate={() => setCreating(true)}
                  text={search.q ?? ''}
                  onText={(q) =>
                    void navigate({
                      search: (before) => ({ ...before, q: q || undefined }),
                      replace: true,
                      resetScroll: false,
                    })
                  }
                />
              )}
            </Loaded>
          </Card>
          {shown ? <RankPanel key={shown.id} group={shown} /> : null}
        </div>
      </div>
      {isCreating ? (
        <CreateDialog
          workers={[...ticked]}
          onCreated={(group) => {
            setCreating(false);
            setTicked(new Set());
            choose(group.id);
          }}
          onClose={() => setCreating(false)}
        />
      ) : null}
    </>
  );
}
