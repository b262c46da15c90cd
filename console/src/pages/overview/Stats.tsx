import type { Overview } from '~/api/types';
import { Stat } from '~/ui/Card';
import { Progress } from '~/ui/Progress';
import { useWords } from '~/words';

/** The cluster in four numbers. */
export function Stats({ overview }: { overview: Overview }) {
  const { w, number } = useWords();
  const { environments, gpus, workers, tasks } = overview;
  const online = environments.total - environments.offline - (environments.lost ?? 0);
  const ended = (tasks.succeeded ?? 0) + (tasks.failed ?? 0) + (tasks.stopped ?? 0);
  const active = Object.values(tasks).reduce((sum, count) => sum + count, 0) - ended;
  return (
    <div className="grid grid-cols-2 gap-4 lg:grid-cols-4">
      <Stat label={w.overview.active} value={number(active)} note={`${w.overview.finished} ${number(ended)}`} />
      <Stat
        label={w.overview.environments}
        value={number(environments.total)}
        note={w.overview.online(number(online), number(environments.total))}
      />
      <Usage label={w.overview.gpus} counts={gpus} none={w.overview.noGpus} />
      <Usage label={w.overview.workers} counts={workers} none={w.common.none} />
    </div>
  );
}

function Usage({ label, counts, none }: { label: string; counts: Overview['gpus']; none: string }) {
  const { w, number } = useWords();
  return (
    <Stat
      label={label}
      value={counts.total === 0 ? '–' : `${number(counts.busy)} / ${number(counts.total)}`}
      note={counts.total === 0 ? none : w.overview.freeOf(number(counts.free), number(counts.total))}
    >
      {counts.total === 0 ? null : (
        <Progress share={counts.busy / counts.total} label={`${label} ${w.common.busy}`} className="mt-2 w-full" />
      )}
    </Stat>
  );
}
