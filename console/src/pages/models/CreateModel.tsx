import { useState } from 'react';
import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import { refusalOf, useAct } from '~/api/useAct';
import { Field, Input } from '~/ui/Field';
import { FormDialog } from '~/ui/FormDialog';
import { useWords } from '~/words';

export function CreateModel({ onClose }: { onClose: () => void }) {
  const { w } = useWords();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [path, setPath] = useState('');
  const create = useAct({
    call: () =>
      q(client.POST('/api/v1/models', { body: { name, path: path || null, description: description || null } })),
    changes: [keys.models],
    done: () => w.models.created,
    onDone: onClose,
    isQuiet: true,
  });
  const refusal = refusalOf(create.error);
  return (
    <FormDialog
      title={w.models.create}
      submit={w.common.create}
      cancel={w.common.cancel}
      isBusy={create.isPending}
      error={refusal.hasField ? null : refusal.text}
      onSubmit={() => create.mutate(undefined)}
      onClose={onClose}
    >
      <Field label={w.common.name} isRequired hint={w.models.nameHint} error={refusal.at('name')}>
        {(props) => <Input {...props} value={name} onChange={(event) => setName(event.currentTarget.value)} />}
      </Field>
      <Field label={w.common.path} hint={w.models.pathHint} error={refusal.at('path')}>
        {(props) => <Input {...props} value={path} onChange={(event) => setPath(event.currentTarget.value)} />}
      </Field>
      <Field label={w.common.description} error={refusal.at('description')}>
        {(props) => (
          <Input {...props} value={description} onChange={(event) => setDescription(event.currentTarget.value)} />
        )}
      </Field>
    </FormDialog>
  );
}
