import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { metricsQuery, taskQuery } from '~/api/queries';
import { phaseTone, TaskPill } from '~/api/Status';
import type { TaskRow } from '~/api/types';
import { Empty } from '~/ui/Empty';
import { TasksIcon } from '~/ui/icons';
import { useNow } from '~/ui/now';
import { Progress } from '~/ui/Progress';
import { Sparkline } from '~/ui/Sparkline';
import { useWords } from '~/words';

/** Rows ask for their own progress; more than these are one click away. */
const SHOWN = 8;
const COMMAND = "fermi task create --name hello --env my-env --follow -- sh -c 'echo hello from rank $RANK'";

export function ActiveTasks({ tasks }: { tasks: readonly TaskRow[] }) {
  const { w } = useWords();
  if (tasks.length === 0) {
    return <Empty icon={<TasksIcon />} title={w.overview.noTasks} hint={w.overview.noTasksHint} command={COMMAND} />;
  }
  return (
    <ul className="divide-y divide-line">
      {tasks.slice(0, SHOWN).map((task) => (
        <ActiveTask key={task.id} row={task} />
      ))}
    </ul>
  );
}

function ActiveTask({ row }: { row: TaskRow }) {
  const { w, tell, number, duration, value } = useWords();
  const now = useNow();
  const whole = useQuery(taskQuery(row.id));
  const loss = useQuery({
    ...metricsQuery(row.id, { series: 'loss', rank: 0, maxPoints: 60 }),
    refetchInterval: 5_000,
  });
  const progress = whole.data?.progress;
  const total = progress?.totalSteps;
  const facts = [
    row.worldSize > 0 ? w.overview.ranks(number(row.worldSize)) : null,
    progress?.etaSeconds != null
      ? w.overview.eta(duration(progress.etaSeconds * 1000))
      : row.startedAt
        ? w.overview.elapsed(duration(now - row.startedAt))
        : null,
    progress?.tokensPerS != null ? w.overview.tokens(value(progress.tokensPerS)) : null,
  ].filter(Boolean);
  const values = loss.data?.series[0]?.points.map((point) => point.value) ?? [];
  return (
    <li className="relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1 px-4 py-3 hover:bg-hover md:grid-cols-[minmax(0,1fr)_160px_136px]">
      <div className="min-w-0">
        <div className="flex items-center gap-2">
          <Link
            to="/training/$id"
            params={{ id: row.id }}
            title={row.name}
            className="truncate font-medium after:absolute after:inset-0"
          >
            {row.name}
          </Link>
          <TaskPill task={row} />
        </div>
        <p className="truncate text-xs text-muted">{tell(row.reason) || facts.join(' · ')}</p>
      </div>
      <div className="min-w-0">
        {progress ? (
          <>
            <p className="truncate pb-1 text-xs text-muted">
              {total
                ? w.overview.step(number(progress.step), number(total))
                : w.overview.stepOnly(number(progress.step))}
            </p>
            {total ? <Progress share={progress.step / total} label={row.name} tone={phaseTone(row.status)} /> : null}
          </>
        ) : null}
      </div>
      <div className="hidden items-center justify-end gap-2 md:flex">
        <Sparkline values={values} label={`${row.name} ${w.overview.loss}`} width={80} />
        <span className="w-14 text-right text-xs text-muted" title={w.overview.loss}>
          {progress?.loss != null ? value(progress.loss) : ''}
        </span>
      </div>
    </li>
  );
}
