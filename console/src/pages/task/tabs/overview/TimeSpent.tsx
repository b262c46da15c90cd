import type { Ledger } from '~/api/types';
import { Card } from '~/ui/Card';
import { classes } from '~/ui/classes';
import { useWords } from '~/words';

type Cause = Ledger['causes'][number]['cause'];

/** Training is good, hangs and failures are bad, everything else is a colour of its own. */
const FILLS: Record<Cause, string> = {
  productive: 'bg-good-fill',
  noSteps: 'bg-good-fill/40',
  queue: 'bg-idle-fill',
  spawn: 'bg-accent',
  import: 'bg-(--chart-5)',
  init: 'bg-(--chart-1)',
  load: 'bg-(--chart-4)',
  firstStep: 'bg-(--chart-6)',
  checkpointStall: 'bg-(--chart-7)',
  slowRank: 'bg-warn-fill',
  hang: 'bg-bad-fill',
  detect: 'bg-bad-fill/60',
  stop: 'bg-(--chart-8)',
  backOff: 'bg-(--chart-3)',
  nodeWait: 'bg-warn-fill/60',
  recompute: 'bg-(--chart-2)',
};

/** Where the time of a task has gone: one bar, and what its parts are. */
export function TimeSpent({ ledger }: { ledger: Ledger }) {
  const { w, say, duration, percent } = useWords();
  return (
    <Card title={w.task.timeSpent} note={w.task.timeSpentHint(percent(ledger.productiveShare))} bodyClass="p-4">
      <div className="flex h-3 overflow-hidden rounded-xs bg-sunken" role="img" aria-label={say(ledger.text)}>
        {ledger.causes.map(({ cause, share }) => (
          <span key={cause} className={classes('min-w-px', FILLS[cause])} style={{ width: `${share * 100}%` }} />
        ))}
      </div>
      <ul className="mt-3 flex flex-wrap gap-x-4 gap-y-1 text-xs">
        {ledger.causes.map(({ cause, text, ms, share }) => (
          <li key={cause} className="flex items-center gap-1.5">
            <span aria-hidden="true" className={classes('size-2 rounded-xs', FILLS[cause])} />
            {say(text)}
            <span className="text-muted">
              {percent(share)} · {duration(ms)}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
