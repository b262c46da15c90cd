import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Loaded } from '~/api/Loaded';
import { overviewQuery } from '~/api/queries';
import { buttonClass } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { PlusIcon } from '~/ui/icons';
import { PageHeader } from '~/ui/PageHeader';
import { Skeleton, SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { ActiveTasks } from './ActiveTasks';
import { ClusterMap } from './ClusterMap';
import { LastEvents } from './LastEvents';
import { Stats } from './Stats';

function Loading() {
  return (
    <div aria-busy="true" className="grid grid-cols-2 gap-4 lg:grid-cols-4">
      {['a', 'b', 'c', 'd'].map((key) => (
        <Skeleton key={key} className="h-24" />
      ))}
    </div>
  );
}

export function Page() {
  const { w } = useWords();
  const overview = useQuery(overviewQuery());
  return (
    <>
      <PageHeader
        title={w.overview.title}
        actions={
          <Link to="/training/create" className={buttonClass('primary')}>
            <PlusIcon />
            {w.overview.createTask}
          </Link>
        }
      />
      <div className="flex flex-col gap-4">
        <Loaded query={overview} loading={<Loading />}>
          {(data) => <Stats overview={data} />}
        </Loaded>
        <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_400px]">
          <div className="flex min-w-0 flex-col gap-4">
            <Card
              title={w.overview.running}
              actions={
                <Link to="/training" className="text-xs text-accent hover:underline">
                  {w.overview.viewAll}
                </Link>
              }
            >
              {overview.data ? (
                <ActiveTasks tasks={overview.data.activeTasks} />
              ) : (
                <SkeletonRows count={3} className="h-12" />
              )}
            </Card>
            <ClusterMap />
          </div>
          <Card title={w.overview.events}>
            {overview.data ? <LastEvents events={overview.data.events} /> : <SkeletonRows count={8} />}
          </Card>
        </div>
      </div>
    </>
  );
}
