import { useState } from 'react';
import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import type { Dataset } from '~/api/types';
import { refusalOf, useAct } from '~/api/useAct';
import { Field, Input } from '~/ui/Field';
import { FormDialog } from '~/ui/FormDialog';
import { useWords } from '~/words';

export function AddVersion({ dataset, onClose }: { dataset: Dataset; onClose: () => void }) {
  const { w } = useWords();
  const [version, setVersion] = useState(`v${dataset.versions.length + 1}`);
  const [path, setPath] = useState('');
  const add = useAct({
    call: () =>
      q(
        client.POST('/api/v1/datasets/{id}/versions', {
          params: { path: { id: dataset.id } },
          body: { version, path },
        }),
      ),
    changes: [keys.datasets],
    done: () => w.datasets.versionAdded,
    onDone: onClose,
    isQuiet: true,
  });
  const refusal = refusalOf(add.error);
  return (
    <FormDialog
      title={w.datasets.addVersionTo(dataset.name)}
      submit={w.datasets.addVersion}
      cancel={w.common.cancel}
      isBusy={add.isPending}
      error={refusal.hasField ? null : refusal.text}
      onSubmit={() => add.mutate(undefined)}
      onClose={onClose}
    >
      <Field label={w.datasets.versionName} isRequired error={refusal.at('version')}>
        {(props) => <Input {...props} value={version} onChange={(event) => setVersion(event.currentTarget.value)} />}
      </Field>
      <Field label={w.common.path} isRequired hint={w.datasets.pathHint} error={refusal.at('path')}>
        {(props) => <Input {...props} value={path} onChange={(event) => setPath(event.currentTarget.value)} />}
      </Field>
    </FormDialog>
  );
}
