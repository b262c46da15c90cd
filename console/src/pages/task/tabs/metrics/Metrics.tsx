import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { memo, useCallback, useDeferredValue, useMemo } from 'react';
import { Loaded } from '~/api/Loaded';
import { mostPoints, packSteps, type StepTimes } from '~/api/packSteps';
import { isLarge, metricsQuery, ranksPace, taskEventsQuery } from '~/api/queries';
import { stepTimesQuery } from '~/api/stepTimes';
import type { Metrics as Answer, Series, Task } from '~/api/types';
import { type Mark, marksNear } from '~/charts/events';
import { HeatMap } from '~/charts/HeatMap';
import { extentOf, heat } from '~/charts/heat';
import { Plot } from '~/charts/Plot';
import { Card } from '~/ui/Card';
import { Choice } from '~/ui/Choice';
import { Command } from '~/ui/Copy';
import { Empty } from '~/ui/Empty';
import { Skeleton, SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import type { TabProps } from '../../Page';
import { type ChartPlan, courses, POINTS, plan, pointsFor, spreadLines } from './charts';
import { marksBySteps, marksOf } from './marks';
import { SAMPLE } from './sample';

const NO_MARKS: Mark[] = [];
const WHOLE: [number, number] = [0, 1];

export function Metrics(props: TabProps) {
  const { task } = props;
  // Of a large task all step times are read, of other numbers those of rank 0.
  const isOfMany = isLarge(task);
  const refetchInterval = ranksPace(task);
  const asked = isOfMany ? { rank: 0, maxPoints: POINTS } : { maxPoints: pointsFor(task.worldSize) };
  const metrics = useQuery({ ...metricsQuery(task.id, asked), refetchInterval });
  const ofAll = useQuery({
    ...stepTimesQuery(task.id, pointsFor(task.worldSize)),
    enabled: isOfMany,
    refetchInterval,
  });
  const isEmpty = (data: Answer) => data.series.every((series) => series.points.length === 0);
  return (
    <Loaded
      query={metrics}
      loading={<SkeletonRows count={3} className="h-44" />}
      isEmpty={isEmpty}
      empty={
        <Card>
          <NoNumbers task={task} />
        </Card>
      }
    >
      {(data) => <Charts {...props} series={data.series} ofAll={isOfMany ? (ofAll.data ?? null) : undefined} />}
    </Loaded>
  );
}

/** Nothing was reported, or nothing of it can be drawn; how it is reported so that it can. */
function NoNumbers({ task }: { task: Task }) {
  const { w } = useWords();
  const [title, hint] = task.progress
    ? [w.task.noCourses, w.task.noCoursesHint]
    : [w.task.noMetrics, w.task.noMetricsHint];
  return <Empty title={title} hint={hint} action={<Command text={SAMPLE} />} />;
}

type ChartsProps = TabProps & {
  series: readonly Series[];
  /** Step times of all ranks of a large task, null until they are there. */
  ofAll: StepTimes | null | undefined;
};

function Charts({ task, search, onSearch, series, ofAll }: ChartsProps) {
  const { w, say } = useWords();
  const events = useInfiniteQuery(taskEventsQuery(task.id));
  const plans = useMemo(() => plan(series), [series]);
  const bySteps = search.x === 'step';
  const byTime = useMemo(
    () => marksOf(events.data?.pages.flatMap((page) => page.items) ?? [], say),
    [events.data, say],
  );
  // What has no steps, such as machines, goes by time.
  const marks = useMemo(() => ({ time: byTime, step: marksBySteps(byTime, series) }), [byTime, series]);
  const training = plans.filter((chart) => !chart.isMachine);
  const machines = plans.filter((chart) => chart.isMachine);
  const steps = useMemo(() => (ofAll === undefined ? packSteps(series) : ofAll), [ofAll, series]);
  // The map is painted before the lines that are made of the same points.
  const forLines = useDeferredValue(ofAll ?? null, null);
  const props = { task, bySteps, marks };
  return (
    <div className="flex flex-col gap-4">
      <Card
        title={w.task.training}
        note={w.task.zoomHint}
        actions={
          <Choice
            label={w.task.axis}
            isLabelHidden
            value={bySteps ? 'step' : 'time'}
            options={[
              { value: 'time', label: w.task.byTime },
              { value: 'step', label: w.task.bySteps },
            ]}
            onChange={(x) => onSearch({ x: x === 'step' ? 'step' : undefined })}
          />
        }
      >
        {training.length > 0 ? (
          <div className="grid gap-x-6 gap-y-2 p-4 lg:grid-cols-2">
            {training.map((chart) => (
              <Chart key={chart.name} chart={chart} ofAll={chart.name === 'stepTimeS' ? forLines : null} {...props} />
            ))}
          </div>
        ) : (
          <NoNumbers task={task} />
        )}
      </Card>
      <StepHeat
        {...props}
        steps={steps}
        onPick={(rank) => onSearch({ tab: 'logs', ranks: String(rank), line: undefined })}
      />
      <Card
        title={w.task.machines}
        note={machines.some((chart) => chart.name.startsWith('gpu.')) ? null : w.task.noGpu}
      >
        <div className="grid gap-x-6 gap-y-2 p-4 lg:grid-cols-2">
          {machines.map((chart) => (
            <Chart key={chart.name} chart={chart} ofAll={null} {...props} />
          ))}
        </div>
      </Card>
    </div>
  );
}

/** What happened, by seconds and by steps. */
type Marks = { time: readonly Mark[]; step: readonly Mark[] };

type ChartProps = {
  task: Task;
  chart: ChartPlan;
  /** Of whom the spread is drawn instead. */
  ofAll: StepTimes | null;
  bySteps: boolean;
  marks: Marks;
};

const Chart = memo(function Chart({ task, chart, ofAll, bySteps, marks }: ChartProps) {
  const { w, value, number, clockWithin, percent, bytes } = useWords();
  const isSteps = bySteps && chart.hasSteps;
  const lines = useMemo(() => {
    const names = new Map(task.nodes.map((node) => [node.environment, node.name]));
    const nameOf = (series: Series) => {
      const where = series.environment ? (names.get(series.environment) ?? series.environment) : '';
      if (series.gpu != null) return `${where} GPU ${series.gpu}`;
      return series.rank == null ? where : `rank ${series.rank}`;
    };
    const spread: [string, string, string] = [w.task.least, w.task.median, w.task.greatest];
    if (ofAll) return spreadLines(isSteps ? ofAll.steps : ofAll.times, ofAll.values, spread);
    return courses(chart, isSteps, { nameOf, all: w.common.all, spread });
  }, [chart, ofAll, isSteps, task.nodes, w]);
  const titles: Record<string, string> = w.task.series;
  const isShare = /\.cpu$|\.use$/.test(chart.name);
  const format = isShare ? percent : /memory|received|sent/.test(chart.name) ? bytes : value;
  return (
    <Plot
      title={titles[chart.name] ?? chart.name}
      courses={lines}
      marks={isSteps ? marks.step : marks.time}
      isTime={!isSteps}
      group={groupOf(task, isSteps)}
      {...(isShare ? { range: WHOLE } : {})}
      format={format}
      formatX={isSteps ? number : (seconds, span) => clockWithin(seconds * 1000, span * 1000)}
    />
  );
});

/** More columns than these are too narrow to point at. */
const COLUMNS = 120;

/** Charts of a task that have the same axis point at the same place. */
const groupOf = (task: Task, bySteps: boolean) => `${task.id} ${bySteps ? 'step' : 'time'}`;

type StepHeatProps = {
  task: Task;
  steps: StepTimes | null;
  bySteps: boolean;
  marks: Marks;
  onPick: (rank: number) => void;
};

function StepHeat({ task, steps, bySteps, marks, onPick }: StepHeatProps) {
  const { w, value, clockWithin, number } = useWords();
  const extent = useMemo(() => steps && extentOf(steps, bySteps), [steps, bySteps]);
  const shown = useMemo(
    () => (extent ? marksNear(bySteps ? marks.step : marks.time, ...extent) : NO_MARKS),
    [bySteps, extent, marks],
  );
  const from = Math.min(...(extent ?? []), ...shown.map((mark) => mark.x));
  const to = Math.max(...(extent ?? []), ...shown.map((mark) => mark.x));
  const map = useMemo(() => {
    if (!steps || from > to) return null;
    const columns = bySteps ? Math.min(COLUMNS, Math.max(mostPoints(steps), 1)) : COLUMNS;
    return heat(steps, { bySteps, from, to, columns });
  }, [steps, bySteps, from, to]);
  const format = useCallback((seconds: number) => w.task.seconds(value(seconds)), [w, value]);
  return (
    <Card title={w.task.heat} note={w.task.heatNote} bodyClass="p-4">
      {steps === null ? (
        <Skeleton className="h-80" />
      ) : map === null ? (
        <p className="text-sm text-muted">{w.task.heatNone}</p>
      ) : (
        <HeatMap
          label={w.task.heat}
          heat={map}
          marks={shown}
          isTime={!bySteps}
          group={groupOf(task, bySteps)}
          format={format}
          formatX={
            bySteps
              ? (step) => w.task.stepOnly(number(Math.round(step)))
              : (seconds, span) => clockWithin(seconds * 1000, span * 1000)
          }
          onPick={onPick}
        />
      )}
    </Card>
  );
}
