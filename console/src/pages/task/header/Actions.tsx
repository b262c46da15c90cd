import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { client, q } from '~/api/client';
import { deleteTask } from '~/api/deleteTasks';
import { keys } from '~/api/queries';
import type { Action, Task } from '~/api/types';
import { useAct } from '~/api/useAct';
import { useWhyNot } from '~/api/useWhyNot';
import { Button, IconButton } from '~/ui/Button';
import { Confirm } from '~/ui/Confirm';
import { CopyIcon, MoreIcon, RestartIcon, StopIcon, TrashIcon } from '~/ui/icons';
import { Menu, MenuItem, MenuSeparator } from '~/ui/Menu';
import { useWords } from '~/words';

/** What may be done, as the server says; what may not says why. */
export function Actions({ task }: { task: Task }) {
  const { w } = useWords();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<'force' | 'delete' | null>(null);
  const path = { params: { path: { id: task.id } } };
  const changes = [keys.task(task.id), keys.tasks, keys.overview];
  const stop = useAct({
    call: (force: boolean) => q(client.POST('/api/v1/training-tasks/{id}/stop', { ...path, body: { force } })),
    changes,
    done: () => w.task.stopAsked,
    onDone: () => setAsked(null),
  });
  const restart = useAct({
    call: () => q(client.POST('/api/v1/training-tasks/{id}/restart', { ...path, body: {} })),
    changes,
    done: () => w.task.restarted,
  });
  const clone = useAct({
    call: () => q(client.POST('/api/v1/training-tasks/{id}/clone', { ...path, body: {} })),
    changes: [keys.tasks, keys.overview],
    done: () => w.task.cloned,
    onDone: ({ taskId }) => void navigate({ to: '/training/$id', params: { id: taskId } }),
  });
  const remove = useAct({
    call: () => deleteTask(task.id),
    changes: [keys.tasks, keys.overview],
    done: () => w.task.deleted,
    onDone: () => void navigate({ to: '/training' }),
  });
  const whyNot = useWhyNot();
  const why = (action: Action) => whyNot(task, action);
  const isOver = task.endedAt != null;
  return (
    <>
      {isOver ? (
        <Button
          icon={<RestartIcon />}
          disabledReason={why('restart')}
          isBusy={restart.isPending}
          onClick={() => restart.mutate(undefined)}
        >
          {w.task.restart}
        </Button>
      ) : (
        <Button
          tone="danger"
          icon={<StopIcon />}
          disabledReason={why('stop')}
          isBusy={stop.isPending}
          onClick={() => stop.mutate(false)}
        >
          {w.task.stop}
        </Button>
      )}
      <Button
        icon={<CopyIcon />}
        disabledReason={why('clone')}
        onClick={() => void navigate({ to: '/training/create', search: { from: task.id } })}
      >
        {w.task.clone}
      </Button>
      <Menu
        trigger={
          <IconButton label={w.task.moreActions} className="!border-line-strong bg-surface">
            <MoreIcon />
          </IconButton>
        }
      >
        <MenuItem icon={<CopyIcon />} disabledReason={why('clone')} onSelect={() => clone.mutate(undefined)}>
          {w.task.cloneAsIs}
        </MenuItem>
        {isOver ? null : (
          <MenuItem icon={<RestartIcon />} disabledReason={why('restart')} onSelect={() => restart.mutate(undefined)}>
            {w.task.restart}
          </MenuItem>
        )}
        <MenuItem icon={<StopIcon />} tone="danger" disabledReason={why('stop')} onSelect={() => setAsked('force')}>
          {w.task.forceStop}
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={<TrashIcon />} tone="danger" disabledReason={why('delete')} onSelect={() => setAsked('delete')}>
          {w.task.delete}
        </MenuItem>
      </Menu>
      <Confirm
        open={asked === 'force'}
        onClose={() => setAsked(null)}
        onConfirm={() => stop.mutate(true)}
        title={w.task.forceTitle}
        text={w.task.forceText}
        confirm={w.task.forceStop}
        cancel={w.common.cancel}
        isBusy={stop.isPending}
      />
      <Confirm
        open={asked === 'delete'}
        onClose={() => setAsked(null)}
        onConfirm={() => remove.mutate(undefined)}
        title={w.task.deleteTitle}
        text={w.task.deleteText}
        confirm={w.task.delete}
        cancel={w.common.cancel}
        isBusy={remove.isPending}
      />
    </>
  );
}
