import { Link } from '@tanstack/react-router';
import type { Environment } from '~/api/types';
import { classes } from '~/ui/classes';
import { useWords } from '~/words';

/** Above so many workers there is a count and no squares. */
const MOST = 16;

/** Its workers as squares, and how many are free. */
export function Usage({ environment }: { environment: Environment }) {
  const { w, number } = useWords();
  const { workers, workersFree } = environment;
  return (
    <div className="flex items-center gap-2 text-xs text-muted">
      <div className="flex min-w-0 flex-1 flex-wrap gap-1">
        {workers.slice(0, MOST).map((worker) => {
          const name = worker.taskId ? `${worker.id} · ${w.environments.heldBy(worker.taskId)}` : worker.id;
          const look = classes(
            'block size-3.5 rounded-sm border',
            worker.taskId ? 'border-accent bg-accent' : 'border-good-fill/60 bg-good-soft',
          );
          return worker.taskId ? (
            <Link
              key={worker.id}
              to="/training/$id"
              params={{ id: worker.taskId }}
              aria-label={name}
              title={name}
              className={look}
            />
          ) : (
            <span key={worker.id} role="img" aria-label={name} title={name} className={look} />
          );
        })}
        {workers.length > MOST ? <span className="text-2xs">+{number(workers.length - MOST)}</span> : null}
      </div>
      <span className="shrink-0">{w.environments.freeOf(number(workersFree), number(workers.length))}</span>
    </div>
  );
}
