import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { client, q } from '~/api/client';
import { deleteTasks } from '~/api/deleteTasks';
import { keys } from '~/api/queries';
import type { TaskRow } from '~/api/types';
import { useAct } from '~/api/useAct';
import { useWhyNot } from '~/api/useWhyNot';
import { Button, buttonClass, IconButton } from '~/ui/Button';
import { Confirm } from '~/ui/Confirm';
import { MoreIcon, PlannerIcon, RestartIcon, StopIcon, TrashIcon } from '~/ui/icons';
import { Menu, MenuItem } from '~/ui/Menu';
import { toast } from '~/ui/Toast';
import { useWords } from '~/words';
import type { Words } from '~/words/zh';

const MOST = 1_000;
const MOST_COMPARED = 8;

type Verb = 'stop' | 'restart' | 'delete';

const wordsOf = (verb: Verb, { training: w }: Words) =>
  ({
    stop: { verb: w.stop, title: w.stopTitle, text: w.stopText, done: w.stopped, failed: w.stopFailed },
    restart: {
      verb: w.restart,
      title: w.restartTitle,
      text: w.restartText,
      done: w.restarted,
      failed: w.restartFailed,
    },
    delete: { verb: w.delete, title: w.deleteTitle, text: w.deleteText, done: w.deleted, failed: w.deleteFailed },
  })[verb];

/** What can be done with the ticked tasks, in one call. */
export function SelectionBar({ chosen, onClear }: { chosen: readonly TaskRow[]; onClear: () => void }) {
  const { w, number } = useWords();
  const whyNotOne = useWhyNot();
  const [asked, setAsked] = useState<Verb | null>(null);
  // What it is about stays in sight while the dialog goes.
  const [verb, setVerb] = useState<Verb>('stop');
  const open = (of: Verb) => chosen.filter((row) => whyNotOne(row, of) === null);
  const act = useAct({
    call: (action: Verb) => {
      const ids = open(action).map(({ id }) => id);
      if (action === 'delete') return deleteTasks(ids);
      return q(client.POST('/api/v1/training-tasks/bulk', { body: { action, ids } }));
    },
    changes: [keys.tasks, keys.overview],
    onDone: (answer, action) => {
      setAsked(null);
      const words = wordsOf(action, w);
      if (answer.succeeded > 0) toast('good', words.done(number(answer.succeeded)));
      const refused = answer.results.find((one) => one.code >= 400);
      if (answer.failed > 0) toast('bad', words.failed(number(answer.failed)), refused?.message);
      onClear();
    },
  });
  if (chosen.length === 0) return null;
  const whyNot = (of: Verb): string | null => {
    const count = open(of).length;
    if (count > MOST) return w.training.mostAtOnce;
    if (count > 0) return null;
    // What stands against the first that still runs is what a person asks about; that the others are over is seen.
    const telling = of === 'stop' ? chosen.find((row) => row.endedAt == null) : chosen[0];
    return telling ? whyNotOne(telling, of) : w.training.nothingToStop;
  };
  const ask = (of: Verb) => {
    setVerb(of);
    setAsked(of);
  };
  const whyNotCompare =
    chosen.length < 2 ? w.training.compareNeeds : chosen.length > MOST_COMPARED ? w.training.compareMost : null;
  const compare = (
    <>
      <PlannerIcon width="14" height="14" />
      {w.training.compare}
    </>
  );
  const words = wordsOf(verb, w);
  return (
    <div
      role="toolbar"
      aria-label={w.training.selected(number(chosen.length))}
      className="flex flex-wrap items-center gap-2 rounded-md bg-accent-soft px-3 py-1.5"
    >
      <span className="text-sm text-accent">{w.training.selected(number(chosen.length))}</span>
      <Button
        size="sm"
        tone="danger"
        icon={<StopIcon width="14" height="14" />}
        disabledReason={whyNot('stop')}
        onClick={() => ask('stop')}
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
      <Menu
        trigger={
          <IconButton size="sm" label={w.training.moreActions} className="!w-7 !border-line-strong bg-surface">
            <MoreIcon />
          </IconButton>
        }
      >
        <MenuItem icon={<RestartIcon />} disabledReason={whyNot('restart')} onSelect={() => ask('restart')}>
          {w.training.restart}
        </MenuItem>
        <MenuItem icon={<TrashIcon />} tone="danger" disabledReason={whyNot('delete')} onSelect={() => ask('delete')}>
          {w.training.delete}
        </MenuItem>
      </Menu>
      <Button size="sm" tone="ghost" className="ml-auto" onClick={onClear}>
        {w.common.clear}
      </Button>
      <Confirm
        open={asked !== null}
        onClose={() => setAsked(null)}
        onConfirm={() => act.mutate(verb)}
        title={words.title(number(open(verb).length))}
        text={words.text}
        confirm={words.verb}
        cancel={w.common.cancel}
        isBusy={act.isPending}
      />
    </div>
  );
}
