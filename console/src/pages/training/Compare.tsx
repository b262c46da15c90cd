import { useQueries } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { metricsQuery, OFTEN, taskQuery } from '~/api/queries';
import { TaskPill } from '~/api/Status';
import type { Task } from '~/api/types';
import { useFrameworkName } from '~/api/useFrameworkName';
import { Plot } from '~/charts/Plot';
import { Banner } from '~/ui/Banner';
import { buttonClass } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Choice } from '~/ui/Choice';
import { Empty } from '~/ui/Empty';
import { PageHeader } from '~/ui/PageHeader';
import { SkeletonRows } from '~/ui/Skeleton';
import { seriesClass } from '~/ui/series';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';
import { type Compared, compared, coursesOf } from './compared';

const route = getRouteApi('/training');
const SERIES = ['loss', 'tokensPerS', 'stepTimeS'] as const;
const NO_MARKS: [] = [];

const isUnderWay = (task: Task | undefined) => task !== undefined && task.endedAt == null;

/** Several tasks over the same steps, or from when each of them has begun. */
export function Compare({ ids }: { ids: readonly string[] }) {
  const { w, value, number, duration } = useWords();
  const byTime = route.useSearch().x === 'time';
  const navigate = route.useNavigate();
  const tasks = useQueries({ queries: ids.map((id) => taskQuery(id)) });
  const metrics = useQueries({
    queries: ids.map((id, at) => ({
      ...metricsQuery(id, { series: SERIES.join(','), rank: 0, maxPoints: 400 }),
      // What is held of one task is nothing of another.
      placeholderData: undefined,
      refetchInterval: isUnderWay(tasks[at]?.data) ? OFTEN : false,
    })),
  });
  const all = compared(ids, tasks, metrics);
  const known = all.flatMap((one) => one.task ?? []);
  const isLoading = [...tasks, ...metrics].some((one) => one.isPending);
  const columns: Column<Task>[] = [
    {
      key: 'name',
      head: w.training.name,
      cell: (task) => (
        <span className="flex items-center gap-2">
          <span aria-hidden="true" className={`h-0.5 w-3 rounded-full ${seriesClass(ids.indexOf(task.id))}`} />
          <Link to="/training/$id" params={{ id: task.id }} className="font-medium hover:text-accent hover:underline">
            {task.name}
          </Link>
          <span className="font-mono text-2xs text-faint">{task.id}</span>
        </span>
      ),
    },
    { key: 'status', head: w.training.status, cell: (task) => <TaskPill task={task} /> },
    { key: 'framework', head: w.training.framework, cell: (task) => <Framework value={task.framework ?? ''} /> },
    {
      key: 'ranks',
      head: w.training.ranks,
      align: 'right',
      cell: (task) => (task.worldSize > 0 ? number(task.worldSize) : '–'),
    },
    {
      key: 'step',
      head: w.training.progress,
      align: 'right',
      cell: (task) => (task.progress ? number(task.progress.step) : '–'),
    },
    {
      key: 'loss',
      head: w.training.loss,
      align: 'right',
      cell: (task) => (task.progress?.loss == null ? '–' : value(task.progress.loss)),
    },
    {
      key: 'took',
      head: w.training.took,
      align: 'right',
      cell: (task) => (task.startedAt && task.endedAt ? duration(task.endedAt - task.startedAt) : '–'),
    },
  ];
  return (
    <>
      <PageHeader
        title={w.training.compareTitle}
        actions={
          <Link to="/training" className={buttonClass()}>
            {w.training.compareBack}
          </Link>
        }
      />
      <div className="flex flex-col gap-4">
        {all.map(({ id, task, error }) =>
          error ? (
            <Banner key={id} tone="bad">
              {w.training.compareMissing(task?.name ?? id, error.message || w.common.unreachable)}
            </Banner>
          ) : null,
        )}
        <Card>
          <Table label={w.training.compareTitle} columns={columns} rows={known} rowKey={(task) => task.id} />
        </Card>
        {isLoading ? (
          <SkeletonRows count={2} className="h-44" />
        ) : (
          <Card
            title={w.training.compareCharts}
            actions={
              <Choice
                label={w.task.axis}
                isLabelHidden
                value={byTime ? 'time' : 'step'}
                options={[
                  { value: 'step', label: w.task.bySteps },
                  { value: 'time', label: w.task.byTime },
                ]}
                onChange={(x) =>
                  void navigate({
                    search: ({ x: _, ...before }) => ({ ...before, ...(x === 'time' ? { x } : {}) }),
                    replace: true,
                    resetScroll: false,
                  })
                }
              />
            }
            bodyClass="grid gap-x-6 gap-y-2 p-4 lg:grid-cols-2"
          >
            {SERIES.map((name) => (
              <Course key={name} name={name} all={all} byTime={byTime} />
            ))}
          </Card>
        )}
      </div>
    </>
  );
}

function Framework({ value }: { value: string }) {
  return useFrameworkName(value);
}

type CourseProps = { name: (typeof SERIES)[number]; all: readonly Compared[]; byTime: boolean };

function Course({ name, all, byTime }: CourseProps) {
  const { w, value, number, duration } = useWords();
  const titles = { loss: w.training.loss, tokensPerS: w.training.speed, stepTimeS: w.task.series.stepTimeS };
  const courses = useMemo(() => coursesOf(all, name, byTime), [all, name, byTime]);
  if (courses.length === 0) return name === 'loss' ? <Empty title={w.training.compareNone} /> : null;
  return (
    <Plot
      title={titles[name]}
      courses={courses}
      marks={NO_MARKS}
      isTime={false}
      {...(byTime ? { axis: w.task.elapsed } : {})}
      group={`compare ${byTime ? 'time' : 'step'}`}
      format={value}
      formatX={byTime ? (seconds) => duration(seconds * 1000) : number}
      height={240}
    />
  );
}
