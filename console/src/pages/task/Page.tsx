import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Loaded, Problem } from '~/api/Loaded';
import { taskQuery } from '~/api/queries';
import type { Task } from '~/api/types';
import { Banner } from '~/ui/Banner';
import { buttonClass } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { PageHeader } from '~/ui/PageHeader';
import { Skeleton } from '~/ui/Skeleton';
import { Tabs } from '~/ui/Tabs';
import { useWords } from '~/words';
import { TaskHeader } from './header/TaskHeader';
import { Why } from './header/Why';
import { TABS, type TabName, type TaskSearch, withinAttempts } from './search';
import { Diagnosis } from './tabs/diagnosis/Diagnosis';
import { Events } from './tabs/events/Events';
import { Launch } from './tabs/launch/Launch';
import { Logs } from './tabs/logs/Logs';
import { Metrics } from './tabs/metrics/Metrics';
import { Overview } from './tabs/overview/Overview';
import { Ranks } from './tabs/ranks/Ranks';

const route = getRouteApi('/training/$id');

export function Page() {
  const { id } = route.useParams();
  const { w } = useWords();
  const task = useQuery(taskQuery(id));
  if (task.error && !task.data) {
    return (
      <>
        <PageHeader
          title={id}
          actions={
            <Link to="/training" className={buttonClass()}>
              {w.training.compareBack}
            </Link>
          }
        />
        <Card>
          <Problem error={task.error} onRetry={() => void task.refetch()} />
        </Card>
      </>
    );
  }
  return (
    <Loaded
      query={task}
      loading={
        <>
          <PageHeader title={id} />
          <div aria-busy="true" className="flex flex-col gap-4">
            <Skeleton className="h-24" />
            <Skeleton className="h-80" />
          </div>
        </>
      }
    >
      {(data) => <TaskView key={data.id} task={data} />}
    </Loaded>
  );
}

/** Tabs that show one attempt at a time. */
const OF_AN_ATTEMPT: ReadonlySet<TabName> = new Set(['logs', 'launch']);

export type TabProps = {
  task: Task;
  search: TaskSearch;
  onSearch: (change: { [Key in keyof TaskSearch]?: TaskSearch[Key] | undefined }) => void;
};

function TaskView({ task }: { task: Task }) {
  const { w, number } = useWords();
  const { search, missing } = withinAttempts(route.useSearch(), task.attempt);
  const navigate = route.useNavigate();
  const tab: TabName = search.tab ?? 'overview';
  const onSearch = useCallback<TabProps['onSearch']>(
    (change) =>
      void navigate({
        search: (before) => ({ ...before, ...change }) as TaskSearch,
        replace: !('tab' in change),
        resetScroll: false,
      }),
    [navigate],
  );
  const props: TabProps = { task, search, onSearch };
  return (
    <>
      <TaskHeader task={task} />
      {tab === 'diagnosis' ? null : (
        <Why task={task} isShort={tab === 'logs'} onTab={(next) => onSearch({ tab: next })} />
      )}
      <Tabs
        aria-label={w.task.tabs}
        value={tab}
        onChange={(next) => onSearch({ tab: next })}
        tabs={TABS.map((value) => ({ value, label: w.task[value] }))}
        className="flex flex-col gap-4"
      >
        {missing !== null && OF_AN_ATTEMPT.has(tab) ? (
          <Banner tone="info" className="mb-4">
            {w.task.attemptMissing(number(missing))}
          </Banner>
        ) : null}
        <Panel tab={tab} {...props} />
      </Tabs>
    </>
  );
}

function Panel({ tab, ...props }: TabProps & { tab: TabName }) {
  switch (tab) {
    case 'overview':
      return <Overview {...props} />;
    case 'logs':
      return <Logs {...props} />;
    case 'metrics':
      return <Metrics {...props} />;
    case 'events':
      return (
        <Card>
          <Events {...props} />
        </Card>
      );
    case 'ranks':
      return <Ranks {...props} />;
    case 'launch':
      return <Launch {...props} />;
    case 'diagnosis':
      return <Diagnosis {...props} />;
  }
}
