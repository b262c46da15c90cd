import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import { taskQuery } from '~/api/queries';
import { phaseTone, TaskPill } from '~/api/Status';
import type { TaskRow } from '~/api/types';
import { useFrameworkName } from '~/api/useFrameworkName';
import { Checkbox } from '~/ui/Checkbox';
import { useNow } from '~/ui/now';
import { Progress } from '~/ui/Progress';
import { useWords } from '~/words';

export const COLUMNS =
  'grid items-center gap-3 px-4 grid-cols-[16px_minmax(0,1fr)_auto] md:grid-cols-[16px_minmax(160px,5fr)_92px_140px_40px_minmax(120px,6fr)_88px] md:gap-4 [&>:nth-child(n+4)]:hidden md:[&>:nth-child(n+4)]:block';

type TaskRowViewProps = { row: TaskRow; isTicked: boolean; onTick: (id: string, isTicked: boolean) => void };

export const TaskRowView = memo(function TaskRowView({ row, isTicked, onTick }: TaskRowViewProps) {
  const { w, tell, number } = useWords();
  const framework = useFrameworkName(row.framework ?? '');
  const why = tell(row.reason) || tell(row.headline);
  return (
    <div
      role="row"
      className={`${COLUMNS} relative h-13 border-b border-line text-sm ${isTicked ? 'bg-accent-soft' : 'hover:bg-hover'}`}
    >
      <span role="cell" className="relative z-1">
        <Checkbox
          aria-label={w.training.select(row.name)}
          checked={isTicked}
          onChange={(next) => onTick(row.id, next)}
        />
      </span>
      <span role="cell" className="min-w-0">
        <Link
          to="/training/$id"
          params={{ id: row.id }}
          title={row.name}
          className="block truncate font-medium after:absolute after:inset-0"
        >
          {row.name}
        </Link>
        <span className="block truncate font-mono text-2xs text-faint">
          {row.id}
          {row.framework ? <span className="ml-2 font-sans">{framework}</span> : null}
        </span>
      </span>
      <span role="cell">
        <TaskPill task={row} />
      </span>
      <span role="cell" className="min-w-0">
        {row.endedAt == null && row.startedAt != null ? <RowProgress row={row} /> : <Took row={row} />}
      </span>
      <span role="cell" className="text-right text-xs text-muted">
        {row.worldSize > 0 ? number(row.worldSize) : '–'}
      </span>
      <span
        role="cell"
        className={`truncate text-xs ${row.status === 'failed' ? 'text-bad' : 'text-muted'}`}
        title={why}
      >
        {why}
      </span>
      <span role="cell" className="text-right">
        <Age time={row.createdAt} />
      </span>
    </div>
  );
});

function Age({ time }: { time: number }) {
  const { ago, date } = useWords();
  const now = useNow();
  return (
    <time dateTime={new Date(time).toISOString()} title={date(time)} className="text-xs whitespace-nowrap text-faint">
      {ago(time, now)}
    </time>
  );
}

function Took({ row }: { row: TaskRow }) {
  const { w, duration } = useWords();
  if (row.startedAt == null || row.endedAt == null) return null;
  return (
    <span className="text-xs text-muted">
      {w.training.took} {duration(row.endedAt - row.startedAt)}
    </span>
  );
}

/** The list does not tell of progress: a row in sight that runs asks for its own. */
function RowProgress({ row }: { row: TaskRow }) {
  const { w, number } = useWords();
  const whole = useQuery(taskQuery(row.id));
  const progress = whole.data?.progress;
  if (!progress) return null;
  const total = progress.totalSteps;
  return (
    <>
      <span className="block truncate pb-1 text-xs text-muted">
        {number(progress.step)}
        {total ? ` / ${number(total)}` : null}
      </span>
      {total ? (
        <Progress share={progress.step / total} label={w.training.progress} tone={phaseTone(row.status)} />
      ) : null}
    </>
  );
}
