import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import { RegisterDialog } from '~/api/RegisterDialog';
import type { Dataset } from '~/api/types';
import { useWords } from '~/words';

export function AddVersion({ dataset, onClose }: { dataset: Dataset; onClose: () => void }) {
  const { w } = useWords();
  return (
    <RegisterDialog
      title={w.datasets.addVersionTo(dataset.name)}
      submit={w.datasets.addVersion}
      fields={[
        {
          key: 'version',
          label: w.datasets.versionName,
          isRequired: true,
          start: `v${dataset.versions.length + 1}`,
        },
        { key: 'path', label: w.common.path, hint: w.datasets.pathHint, isRequired: true },
      ]}
      call={(body) => q(client.POST('/api/v1/datasets/{id}/versions', { params: { path: { id: dataset.id } }, body }))}
      changes={[keys.datasets]}
      done={w.datasets.versionAdded}
      onClose={onClose}
    />
  );
}
