import { useRef } from 'react';
import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import { RegisterDialog } from '~/api/RegisterDialog';
import { useWords } from '~/words';

/** A dataset, and its first version if a path is given. */
export function CreateDataset({ onClose }: { onClose: () => void }) {
  const { w } = useWords();
  // Where its version is refused the dataset is there already, and only the version is sent again.
  const made = useRef<{ name: string; id: string } | null>(null);
  return (
    <RegisterDialog
      title={w.datasets.create}
      submit={w.common.create}
      fields={[
        { key: 'name', label: w.common.name, isRequired: true },
        { key: 'description', label: w.common.description },
        { key: 'version', label: w.datasets.firstVersion, start: 'v1' },
        { key: 'path', label: w.common.path, hint: w.datasets.pathHint },
      ]}
      call={async ({ name, description, version, path }) => {
        if (made.current?.name !== name) {
          const body = { name, description: description || null };
          made.current = { name, id: (await q(client.POST('/api/v1/datasets', { body }))).id };
        }
        if (path.trim() === '') return;
        const params = { path: { id: made.current.id } };
        await q(client.POST('/api/v1/datasets/{id}/versions', { params, body: { version: version || 'v1', path } }));
      }}
      changes={[keys.datasets]}
      done={w.datasets.created}
      onClose={onClose}
    />
  );
}
