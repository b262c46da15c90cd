import { useState } from 'react';
import { ActDialog } from '~/api/ActDialog';
import { type Group, groupCalls } from '~/api/groups';
import { keys } from '~/api/queries';
import { TextField } from '~/ui/TextField';
import { useWords } from '~/words';

type CreateDialogProps = { workers: string[]; onCreated: (group: Group) => void; onClose: () => void };

/** Makes a group, with the workers that are ticked. */
export function CreateDialog({ workers, onCreated, onClose }: CreateDialogProps) {
  const { w, number } = useWords();
  const [name, setName] = useState('');
  return (
    <ActDialog
      title={w.groups.create}
      description={
        workers.length > 0 ? `${w.groups.selected(number(workers.length))} · ${w.groups.createHint}` : undefined
      }
      submit={w.common.create}
      call={() => groupCalls.create({ name, workers })}
      changes={[keys.groups]}
      done={() => w.groups.created}
      onDone={onCreated}
      onClose={onClose}
    >
      {(refusedAt) => (
        <TextField
          label={w.groups.name}
          isRequired
          error={refusedAt('name')}
          value={name}
          placeholder={w.groups.nameExample}
          onChange={setName}
        />
      )}
    </ActDialog>
  );
}
