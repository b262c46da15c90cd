import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ActDialog } from '~/api/ActDialog';
import { argv } from '~/api/argv';
import { type Group, groupCalls, type StartGroup } from '~/api/groups';
import { datasetsQuery, frameworksQuery, keys } from '~/api/queries';
import { SelectField } from '~/ui/SelectField';
import { TextField } from '~/ui/TextField';
import { toast } from '~/ui/Toast';
import { useWords } from '~/words';

const NONE = 'none';

/** Starts a task on a group. */
export function StartDialog({ group, onClose }: { group: Group; onClose: () => void }) {
  const { w, number } = useWords();
  const navigate = useNavigate();
  const frameworks = useQuery(frameworksQuery());
  const datasets = useQuery(datasetsQuery());
  const [name, setName] = useState(group.name);
  const [command, setCommand] = useState('');
  const [directory, setDirectory] = useState('');
  const [framework, setFramework] = useState('pytorch-ddp');
  const [dataset, setDataset] = useState(NONE);
  const versions = (datasets.data?.items ?? []).flatMap((item) =>
    item.versions.map((version) => ({
      value: `${item.id} ${version.id}`,
      label: `${item.name} · ${version.version}`,
      note: version.path,
    })),
  );
  const call = () => {
    const words = argv(command) ?? [command];
    const [datasetId, datasetVersionId] = dataset.split(' ');
    const body: StartGroup = { taskName: name, framework };
    if (words.length > 0) body.command = { argv: words, ...(directory ? { workingDirectory: directory } : {}) };
    if (datasetId && datasetVersionId) Object.assign(body, { datasetId, datasetVersionId });
    return groupCalls.start(group.id, body);
  };
  return (
    <ActDialog
      title={w.groups.startTitle(group.name)}
      description={w.groups.startNote(number(group.worldSize ?? 0))}
      submit={w.groups.start}
      call={call}
      changes={[keys.groups]}
      onDone={({ taskId, description }) => {
        toast('good', w.groups.started, description);
        void navigate({ to: '/training/$id', params: { id: taskId } });
      }}
      onClose={onClose}
    >
      {(refusedAt) => (
        <>
          <TextField
            label={w.groups.taskName}
            isRequired
            error={refusedAt('taskName')}
            value={name}
            onChange={setName}
          />
          <TextField
            label={w.groups.command}
            hint={w.groups.commandHint}
            className="font-mono"
            value={command}
            placeholder="examples/train_ddp.py --epochs 10"
            onChange={setCommand}
          />
          <TextField
            label={w.groups.directory}
            className="font-mono"
            value={directory}
            placeholder="/workspace/project"
            onChange={setDirectory}
          />
          <div className="grid gap-4 sm:grid-cols-2">
            <SelectField
              label={w.groups.framework}
              value={framework}
              onChange={setFramework}
              options={(frameworks.data?.items ?? []).map((card) => ({ value: card.value, label: card.label }))}
            />
            <SelectField
              label={w.groups.dataset}
              value={dataset}
              onChange={setDataset}
              options={[{ value: NONE, label: w.groups.noDataset }, ...versions]}
            />
          </div>
        </>
      )}
    </ActDialog>
  );
}
