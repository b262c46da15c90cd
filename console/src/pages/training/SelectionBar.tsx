import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import type { TaskRow } from '~/api/types';
import { useAct } from '~/api/useAct';
import { useWhyNot } from '~/api/useWhyNot';
import { Button, buttonClass } from '~/ui/Button';
import { Confirm } from '~/ui/Confirm';
import { PlannerIcon, StopIcon } from '~/ui/icons';
import { toast } from '~/ui/Toast';
import { useWords } from '~/words';

const MOST_STOPPED = 1_000;
const MOST_COMPARED = 8;

/** What can be done with the ticked tasks, in one call. */
export function SelectionBar({ chosen, onClear }: { chosen: readonly TaskRow[]; onClear: () => void }) {
  const { w, number } = useWords();
  const whyNotOne = useWhyNot();
  const [isAsking, setAsking] = useState(false);
  const open = chosen.filter((row) => whyNotOne(row, 'stop') === null);
  const stop = useAct({
    call: (ids: string[]) => q(client.POST('/api/v1/training-tasks/bulk', { body: { action: 'stop', ids } })),
    changes: [keys.tasks, keys.overview],
    onDone: (answer) => {
      setAsking(false);
      if (answer.succeeded > 0) toast('good', w.training.stopped(number(answer.succeeded)));
      const refused = answer.results.find((one) => one.code >= 400);
      if (answer.failed > 0) toast('bad', w.training.stopFailed(number(answer.failed)), refused?.message);
      onClear();
    },
  });
  if (chosen.length === 0) return null;
  // What stands against the first that still runs is what a person asks about; that the others are over is seen.
  const running = chosen.find((row) => row.endedAt == null);
  const whyNone = running ? whyNotOne(running, 'stop') : w.training.nothingToStop;
  const whyNot = open.length === 0 ? whyNone : open.length > MOST_STOPPED ? w.training.stopMost : null;
  const whyNotCompare =
    chosen.length < 2 ? w.training.compareNeeds : chosen.length > MOST_COMPARED ? w.training.compareMost : null;
  const compare = (
    <>
      <PlannerIcon width="14" height="14" />
      {w.training.compare}
    </>
  );
  return (
    <div
      role="toolbar"
      aria-label={w.training.selected(number(chosen.length))}
      className="flex items-center gap-2 rounded-md bg-accent-soft px-3 py-1.5"
    >
      <span className="text-sm text-accent">{w.training.selected(number(chosen.length))}</span>
      <Button
        size="sm"
        tone="danger"
        icon={<StopIcon width="14" height="14" />}
        disabledReason={whyNot}
        onClick={() => setAsking(true)}
        className="ml-2"
      >
        {w.training.stop}
      </Button>
      {whyNotCompare ? (
        <Button size="sm" disabledReason={whyNotCompare}>
          {compare}
        </Button>
      ) : (
        <Link
          to="/training"
          search={{ compare: chosen.map((row) => row.id).join(',') }}
          className={buttonClass('plain', 'sm')}
        >
          {compare}
        </Link>
      )}
      <Button size="sm" tone="ghost" className="ml-auto" onClick={onClear}>
        {w.common.clear}
      </Button>
      <Confirm
        open={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={() => stop.mutate(open.map((row) => row.id))}
        title={w.training.stopTitle(number(open.length))}
        text={w.training.stopText}
        confirm={w.training.stop}
        cancel={w.common.cancel}
        isBusy={stop.isPending}
      />
    </div>
  );
}
