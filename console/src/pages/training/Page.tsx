import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { buttonClass } from '~/ui/Button';
import { PlusIcon } from '~/ui/icons';
import { PageHeader } from '~/ui/PageHeader';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { TaskList } from './TaskList';

const route = getRouteApi('/training');
// Charts are wanted by those alone who compare.
const Compare = lazy(() => import('./Compare').then((module) => ({ default: module.Compare })));

export function Page() {
  const { w } = useWords();
  const { compare } = route.useSearch();
  const ids = [...new Set(compare?.split(',').filter(Boolean))];
  if (ids.length > 0) {
    return (
      <Suspense fallback={<SkeletonRows count={4} className="h-24" />}>
        <Compare ids={ids} />
      </Suspense>
    );
  }
  return (
    <>
      <PageHeader
        title={w.training.title}
        actions={
          <Link to="/training/create" className={buttonClass('primary')}>
            <PlusIcon />
            {w.training.create}
          </Link>
        }
      />
      <TaskList />
    </>
  );
}
