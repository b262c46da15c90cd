import { useState } from 'react';
import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import { refusalOf, useAct } from '~/api/useAct';
import { Field, Input } from '~/ui/Field';
import { FormDialog } from '~/ui/FormDialog';
import { useWords } from '~/words';

/** A dataset, and its first version if a path is given. */
export function CreateDataset({ onClose }: { onClose: () => void }) {
  const { w } = useWords();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [version, setVersion] = useState('v1');
  const [path, setPath] = useState('');
  const create = useAct({
    call: async () => {
      const body = { name, description: description || null };
      const made = await q(client.POST('/api/v1/datasets', { body }));
      if (path.trim() === '') return made;
      return q(
        client.POST('/api/v1/datasets/{id}/versions', {
          params: { path: { id: made.id } },
          body: { version: version || 'v1', path },
        }),
      );
    },
    changes: [keys.datasets],
    done: () => w.datasets.created,
    onDone: onClose,
    isQuiet: true,
  });
  const refusal = refusalOf(create.error);
  return (
    <FormDialog
      title={w.datasets.create}
      submit={w.common.create}
      cancel={w.common.cancel}
      isBusy={create.isPending}
      error={refusal.hasField ? null : refusal.text}
      onSubmit={() => create.mutate(undefined)}
      onClose={onClose}
    >
      <Field label={w.common.name} isRequired error={refusal.at('name')}>
        {(props) => <Input {...props} value={name} onChange={(event) => setName(event.currentTarget.value)} />}
      </Field>
      <Field label={w.common.description} error={refusal.at('description')}>
        {(props) => (
          <Input {...props} value={description} onChange={(event) => setDescription(event.currentTarget.value)} />
        )}
      </Field>
      <fieldset className="grid gap-4 border-t border-line pt-4 sm:grid-cols-[120px_minmax(0,1fr)]">
        <legend className="sr-only">{w.datasets.firstVersion}</legend>
        <Field label={w.datasets.versionName} error={refusal.at('version')}>
          {(props) => <Input {...props} value={version} onChange={(event) => setVersion(event.currentTarget.value)} />}
        </Field>
        <Field label={w.common.path} hint={w.datasets.pathHint} error={refusal.at('path')}>
          {(props) => <Input {...props} value={path} onChange={(event) => setPath(event.currentTarget.value)} />}
        </Field>
      </fieldset>
    </FormDialog>
  );
}
