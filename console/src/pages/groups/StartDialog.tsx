import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { ApiError } from '~/api/error';
import { type Group, groupCalls, type StartGroup } from '~/api/groups';
import { datasetsQuery, frameworksQuery, keys } from '~/api/queries';
import { Banner } from '~/ui/Banner';
import { Button } from '~/ui/Button';
import { Dialog } from '~/ui/Dialog';
import { Field, Input } from '~/ui/Field';
import { SelectField } from '~/ui/SelectField';
import { toast } from '~/ui/Toast';
import { useWords } from '~/words';
import { argv } from '../../api/argv';

const NONE = 'none';

export function StartDialog({ group, onClose }: { group: Group; onClose: () => void }) {
  const { w, number } = useWords();
  const client = useQueryClient();
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
  const start = useMutation({
    mutationFn: () => {
      const words = argv(command) ?? [command];
      const [datasetId, datasetVersionId] = dataset.split(' ');
      const body: StartGroup = { taskName: name, framework };
      if (words.length > 0) body.command = { argv: words, ...(directory ? { workingDirectory: directory } : {}) };
      if (datasetId && datasetVersionId) Object.assign(body, { datasetId, datasetVersionId });
      return groupCalls.start(group.id, body);
    },
    onSuccess: async (answer) => {
      void client.invalidateQueries({ queryKey: keys.groups });
      toast('good', w.groups.started, answer.description);
      await navigate({ to: '/training/$id', params: { id: answer.taskId } });
    },
  });
  const error = start.error instanceof ApiError ? start.error : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    start.mutate();
  };
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title={w.groups.startTitle(group.name)}
      description={w.groups.startNote(number(group.worldSize ?? 0))}
      footer={
        <>
          <Button onClick={onClose}>{w.common.cancel}</Button>
          <Button tone="primary" type="submit" form="group-start" isBusy={start.isPending}>
            {w.groups.start}
          </Button>
        </>
      }
    >
      <form id="group-start" onSubmit={submit} className="flex flex-col gap-4">
        {start.error ? (
          <Banner tone="bad">
            {error?.text || w.common.unreachable} {error?.hint}
          </Banner>
        ) : null}
        <Field label={w.groups.taskName} isRequired>
          {(props) => <Input {...props} value={name} onChange={(event) => setName(event.currentTarget.value)} />}
        </Field>
        <Field label={w.groups.command} hint={w.groups.commandHint}>
          {(props) => (
            <Input
              {...props}
              className="font-mono"
              value={command}
              placeholder="examples/train_ddp.py --epochs 10"
              onChange={(event) => setCommand(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label={w.groups.directory}>
          {(props) => (
            <Input
              {...props}
              className="font-mono"
              value={directory}
              placeholder="/workspace/project"
              onChange={(event) => setDirectory(event.currentTarget.value)}
            />
          )}
        </Field>
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
      </form>
    </Dialog>
  );
}
