import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Group, groupCalls } from '~/api/groups';
import { keys } from '~/api/queries';
import { TaskPill } from '~/api/Status';
import { useAct } from '~/api/useAct';
import { useDenied, useWhyNot } from '~/api/useWhyNot';
import { Button, IconButton } from '~/ui/Button';
import { Confirm } from '~/ui/Confirm';
import { classes } from '~/ui/classes';
import { GearIcon, PlayIcon, StopIcon, TrashIcon } from '~/ui/icons';
import { Pill } from '~/ui/Pill';
import { toast } from '~/ui/Toast';
import { useWords } from '~/words';
import { ConfigDialog } from './ConfigDialog';
import { StartDialog } from './StartDialog';

type Asked = 'config' | 'start' | 'stop' | 'delete' | null;

export function GroupCard({ group, isShown, onShow }: { group: Group; isShown: boolean; onShow: () => void }) {
  const { w, say, number } = useWords();
  const [asked, setAsked] = useState<Asked>(null);
  const whyNot = useWhyNot();
  const noTasks = useDenied('create');
  const close = () => setAsked(null);
  const stop = useAct({
    call: () => groupCalls.stop(group.id),
    changes: [keys.groups],
    onDone: ({ succeeded, failed }) => {
      close();
      if (succeeded > 0) toast('good', w.groups.stopped(number(succeeded)));
      if (failed > 0) toast('bad', w.training.stopFailed(number(failed)));
    },
  });
  const remove = useAct({
    call: () => groupCalls.delete(group.id),
    changes: [keys.groups],
    done: () => w.groups.deleted,
    onDone: close,
  });
  const problems = group.checks.filter((check) => check.state === 'failed');
  const first = problems[0];
  const { config } = group;
  return (
    <li
      className={classes(
        'relative flex min-w-0 flex-col gap-3 rounded-lg border bg-surface p-4 transition-colors',
        isShown ? 'border-accent' : 'border-line hover:border-line-strong',
      )}
    >
      <div className="flex items-center gap-2">
        <button
          type="button"
          aria-pressed={isShown}
          onClick={onShow}
          title={group.name}
          className="min-w-0 truncate text-base font-semibold after:absolute after:inset-0"
        >
          {group.name}
        </button>
        {first ? (
          <Pill tone="warn" title={say(first.text)}>
            {w.groups.problems(number(problems.length))}
          </Pill>
        ) : (
          <Pill tone="good">{w.groups.ready}</Pill>
        )}
        <div className="relative ml-auto flex">
          <IconButton
            label={w.groups.config}
            size="sm"
            disabledReason={whyNot(group, 'change')}
            onClick={() => setAsked('config')}
          >
            <GearIcon />
          </IconButton>
          <IconButton
            label={w.groups.delete}
            size="sm"
            disabledReason={whyNot(group, 'delete')}
            onClick={() => setAsked('delete')}
          >
            <TrashIcon />
          </IconButton>
        </div>
      </div>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)_auto_minmax(0,1fr)] gap-x-3 gap-y-1 text-sm">
        <Fact name={w.groups.master} value={config.masterAddr ?? '–'} />
        <Fact name={w.groups.port} value={String(config.masterPort)} />
        <Fact name={w.groups.worldSize} value={group.worldSize === null ? '–' : number(group.worldSize)} />
        <Fact name={w.groups.backend} value={config.backend} />
      </dl>
      <div className="flex min-h-5 flex-wrap items-center gap-2 text-xs text-muted">
        {group.tasks.length === 0 ? w.groups.nothingRuns : null}
        {group.tasks.map((task) => (
          <Link
            key={task.id}
            to="/training/$id"
            params={{ id: task.id }}
            title={task.name}
            className="relative inline-flex max-w-full items-center gap-1.5 hover:text-accent"
          >
            <span className="truncate">{task.name}</span>
            <TaskPill task={task} />
          </Link>
        ))}
      </div>
      <div className="flex items-center gap-2 border-t border-line pt-3">
        <span className="text-xs text-muted">
          {w.groups.workerCount(number(group.workers.length))}
          {group.standby > 0 ? ` · ${number(group.standby)} ${w.groups.standby}` : ''}
        </span>
        <div className="relative ml-auto flex gap-2">
          {group.tasks.length > 0 ? (
            <Button
              size="sm"
              icon={<StopIcon />}
              disabledReason={whyNot(group, 'stop')}
              onClick={() => setAsked('stop')}
            >
              {w.groups.stop}
            </Button>
          ) : null}
          <Button
            size="sm"
            tone="primary"
            icon={<PlayIcon />}
            disabledReason={noTasks ?? (first ? [say(first.text), say(first.hint)].filter(Boolean).join(' · ') : null)}
            onClick={() => setAsked('start')}
          >
            {w.groups.start}
          </Button>
        </div>
      </div>
      {asked === 'config' ? <ConfigDialog group={group} onClose={close} /> : null}
      {asked === 'start' ? <StartDialog group={group} onClose={close} /> : null}
      <Confirm
        open={asked === 'stop'}
        onClose={close}
        title={w.groups.stop}
        text={w.groups.stopText(group.name)}
        confirm={w.groups.stop}
        cancel={w.common.cancel}
        isBusy={stop.isPending}
        onConfirm={() => stop.mutate(undefined)}
      />
      <Confirm
        open={asked === 'delete'}
        onClose={close}
        title={w.groups.delete}
        text={w.groups.deleteText(group.name)}
        confirm={w.common.delete}
        cancel={w.common.cancel}
        isBusy={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
      />
    </li>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt className="whitespace-nowrap text-muted">{name}</dt>
      <dd className="truncate font-mono text-xs leading-5" title={value}>
        {value}
      </dd>
    </>
  );
}
