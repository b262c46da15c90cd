import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ranksPace, ranksQuery } from '~/api/queries';
import { phaseTone, TaskPill } from '~/api/Status';
import type { Task } from '~/api/types';
import { useNow } from '~/ui/now';
import { PageHeader } from '~/ui/PageHeader';
import { Progress } from '~/ui/Progress';
import { useWords } from '~/words';
import { deviceHours } from '../facts';
import { Actions } from './Actions';

/** What a task is, how far it is, and what can be done with it. */
export function TaskHeader({ task }: { task: Task }) {
  const { w, number, duration, value, percent } = useWords();
  const now = useNow();
  const isOver = task.endedAt != null;
  const ranks = useQuery({ ...ranksQuery(task.id), refetchInterval: ranksPace(task) });
  const alive = ranks.data?.items.filter((rank) => rank.state === 'running').length;
  // Ranks that are done leave the others behind; one that failed is missed.
  const isDegraded = task.status === 'running' && ranks.data?.items.some((rank) => rank.state === 'failed');
  const progress = task.progress;
  const total = progress?.totalSteps;
  const share = progress && total ? progress.step / total : null;
  const spent = deviceHours(task, now);
  const shows = task.status === 'running' || task.status === 'stopping' || task.status === 'starting';
  return (
    <>
      <nav aria-label={w.training.title} className="mb-1 text-xs">
        <Link to="/training" className="text-muted underline underline-offset-2 decoration-line hover:text-accent">
          {w.training.title}
        </Link>
        <span aria-hidden="true" className="px-1.5 text-faint">
          /
        </span>
        <span className="font-mono text-faint">{task.id}</span>
      </nav>
      <PageHeader title={<span title={task.name}>{task.name}</span>} actions={<Actions task={task} />}>
        <TaskPill task={task} />
        {shows && alive !== undefined && task.worldSize > 0 ? (
          <span className={`text-sm ${isDegraded ? 'text-warn' : 'text-muted'}`}>
            {isDegraded ? `${w.task.degraded} ` : null}
            {number(alive)}/{number(task.worldSize)}
          </span>
        ) : null}
      </PageHeader>
      <dl className="mb-4 grid grid-cols-2 gap-x-6 gap-y-3 rounded-lg border border-line bg-surface px-4 py-3 sm:grid-cols-3 lg:grid-cols-[minmax(200px,2fr)_repeat(5,minmax(0,1fr))]">
        <Fact label={w.task.progress} className="col-span-2 sm:col-span-3 lg:col-span-1">
          {progress ? (
            <span className="flex items-baseline gap-2">
              {total ? w.task.step(number(progress.step), number(total)) : w.task.stepOnly(number(progress.step))}
              {share === null ? null : <span className="text-xs font-normal text-muted">{percent(share)}</span>}
            </span>
          ) : (
            <span className="font-normal text-muted" title={w.task.noProgressHint}>
              {isOver ? w.task.noProgressEver : w.task.noProgress}
            </span>
          )}
          {share === null ? null : (
            <Progress share={share} label={w.task.progress} tone={phaseTone(task.status)} className="mt-1.5 w-full" />
          )}
        </Fact>
        {progress?.etaSeconds != null && !isOver ? (
          <Fact label={w.task.eta}>{duration(progress.etaSeconds * 1000)}</Fact>
        ) : (
          <Fact label={isOver ? w.task.took : w.task.elapsed}>
            {task.startedAt ? duration((task.endedAt ?? now) - task.startedAt) : '–'}
          </Fact>
        )}
        <Fact label={w.task.loss}>{progress?.loss == null ? '–' : value(progress.loss)}</Fact>
        <Fact label={w.task.speed}>
          {progress?.tokensPerS == null ? '–' : w.task.tokens(value(progress.tokensPerS))}
        </Fact>
        <Fact label={w.task.attempts} note={w.task.restartsOf(number(task.restartsUsed), number(task.maxRestarts))}>
          {number(task.attempt)}
        </Fact>
        <Fact label={spent.isGpu ? w.task.gpuHours : w.task.workerHours}>{value(Number(spent.hours.toFixed(3)))}</Fact>
      </dl>
    </>
  );
}

type FactProps = { label: string; note?: string; className?: string; children: ReactNode };

function Fact({ label, note, className, children }: FactProps) {
  return (
    <div className={className ?? 'min-w-0'}>
      <dt className="truncate text-xs text-muted">{label}</dt>
      <dd className="truncate text-sm font-medium">
        {children}
        {note ? <span className="ml-2 text-xs font-normal text-muted">{note}</span> : null}
      </dd>
    </div>
  );
}
