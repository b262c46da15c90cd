import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Loaded } from '~/api/Loaded';
import { metricsQuery, OFTEN, taskEventsQuery } from '~/api/queries';
import type { Metrics, Task } from '~/api/types';
import { classes } from '~/ui/classes';
import { Empty } from '~/ui/Empty';
import { useNow } from '~/ui/now';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { firstStepSeen, type Stage, waterfall, withParts } from './stages';

const FILLS: Record<Stage, string> = {
  queued: 'bg-idle-fill',
  placed: 'bg-(--chart-5)',
  preflight: 'bg-(--chart-4)',
  spawn: 'bg-accent',
  join: 'bg-good-fill',
  import: 'bg-(--chart-5)',
  rendezvous: 'bg-(--chart-1)',
  load: 'bg-(--chart-4)',
  firstStep: 'bg-good-fill',
};

/** No event tells of a first step: it is looked for until it is there. */
const untilTold =
  ({ endedAt }: Task) =>
  ({ state }: { state: { data?: Metrics | undefined } }) =>
    endedAt == null && !state.data?.series.some(({ points }) => points.length > 0) ? OFTEN : false;

/** How the start went: each stage as a bar from where the one before ended. */
export function Waterfall({ task }: { task: Task }) {
  const { w, duration, number } = useWords();
  const now = useNow();
  const events = useInfiniteQuery(taskEventsQuery(task.id));
  const first = useQuery({
    ...metricsQuery(task.id, { rank: 0, maxPoints: 500, series: 'loss,stepTimeS' }),
    refetchInterval: untilTold(task),
  });
  const told = events.data?.pages.flatMap((page) => page.items) ?? [];
  const firstStep = first.data?.series[0]?.points[0]?.time ?? firstStepSeen(told, task.ledger, task.attempt);
  // What trains without telling of its steps has no first one.
  const isSilent = task.ledger?.causes.some(({ cause, ms }) => cause === 'productive' && ms > 0) && !task.progress;
  const bars = withParts(waterfall(told, firstStep, now, !isSilent), task.ledger, task.attempt);
  const from = bars[0]?.from ?? 0;
  const span = Math.max((bars[bars.length - 1]?.to ?? 0) - from, 1);
  const names: Record<Stage, string> = {
    queued: w.task.phaseQueued,
    placed: w.task.phasePlaced,
    preflight: w.task.phasePreflight,
    spawn: w.task.phaseSpawn,
    join: w.task.phaseJoin,
    import: w.task.phaseImport,
    rendezvous: w.task.phaseRendezvous,
    load: w.task.phaseLoad,
    firstStep: w.task.phaseFirstStep,
  };
  const took = (ms: number) => (ms < 10_000 ? `${number(Math.round(ms))} ms` : duration(ms));
  return (
    <Loaded
      query={events}
      loading={<SkeletonRows count={4} className="h-5" />}
      isEmpty={() => bars.length === 0}
      empty={<Empty title={w.task.startupNone} />}
    >
      {() => (
        <ol className="flex flex-col gap-2 px-4 py-3">
          {bars.map((bar) => (
            <li
              key={bar.stage}
              className="grid grid-cols-[112px_minmax(0,1fr)_80px] items-center gap-3 text-xs sm:grid-cols-[152px_minmax(0,1fr)_80px]"
            >
              <span className="truncate text-muted" title={names[bar.stage]}>
                {names[bar.stage]}
              </span>
              <span className="relative h-2.5 rounded-xs bg-sunken">
                <span
                  aria-hidden="true"
                  className={classes(
                    'absolute inset-y-0 min-w-0.5 rounded-xs',
                    FILLS[bar.stage],
                    bar.isOpen && 'animate-pulse',
                  )}
                  style={{
                    left: `${((bar.from - from) / span) * 100}%`,
                    width: `${Math.max(((bar.to - bar.from) / span) * 100, 0.4)}%`,
                  }}
                />
              </span>
              <span className="text-right">
                {took(bar.to - bar.from)}
                {bar.isOpen ? <span className="sr-only"> {w.task.underWay}</span> : null}
              </span>
            </li>
          ))}
        </ol>
      )}
    </Loaded>
  );
}
