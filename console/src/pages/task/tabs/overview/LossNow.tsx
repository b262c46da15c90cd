import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { metricsQuery, OFTEN, taskEventsQuery } from '~/api/queries';
import type { Task } from '~/api/types';
import { Plot } from '~/charts/Plot';
import { Card } from '~/ui/Card';
import { useWords } from '~/words';
import { samplesOf } from '../metrics/charts';
import { marksBySteps, marksOf } from '../metrics/marks';

/** The loss of rank 0 at a glance, where there is one. */
export function LossNow({ task }: { task: Task }) {
  const { w, say, value, number } = useWords();
  const events = useInfiniteQuery(taskEventsQuery(task.id));
  const metrics = useQuery({
    ...metricsQuery(task.id, { series: 'loss', rank: 0, maxPoints: 300 }),
    refetchInterval: task.endedAt == null ? OFTEN : false,
  });
  const loss = metrics.data?.series[0];
  const courses = useMemo(
    () => [{ label: w.task.loss, colour: 0, samples: loss ? samplesOf(loss, true) : [] }],
    [loss, w.task.loss],
  );
  const marks = useMemo(() => {
    const told = events.data?.pages.flatMap((page) => page.items) ?? [];
    return loss ? marksBySteps(marksOf(told, say), [loss]) : [];
  }, [events.data, loss, say]);
  if ((courses[0]?.samples.length ?? 0) < 2) return null;
  return (
    <Card title={w.task.loss} note={w.task.bySteps} bodyClass="px-3 pt-3 pb-2">
      <Plot
        title={w.task.loss}
        courses={courses}
        marks={marks}
        isTime={false}
        group="overview"
        format={value}
        formatX={number}
        height={160}
        isTitleHidden
      />
    </Card>
  );
}
