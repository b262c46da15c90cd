import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import { RegisterDialog } from '~/api/RegisterDialog';
import { useWords } from '~/words';

export function CreateModel({ onClose }: { onClose: () => void }) {
  const { w } = useWords();
  return (
    <RegisterDialog
      title={w.models.create}
      submit={w.common.create}
      fields={[
        { key: 'name', label: w.common.name, hint: w.models.nameHint, isRequired: true },
        { key: 'path', label: w.common.path, hint: w.models.pathHint },
        { key: 'description', label: w.common.description },
      ]}
      call={({ name, path, description }) =>
        q(client.POST('/api/v1/models', { body: { name, path: path || null, description: description || null } }))
      }
      changes={[keys.models]}
      done={w.models.created}
      onClose={onClose}
    />
  );
}
