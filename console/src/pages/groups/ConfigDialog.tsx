import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError } from '~/api/error';
import { type Backend, type Group, groupCalls } from '~/api/groups';
import { keys } from '~/api/queries';
import { Banner } from '~/ui/Banner';
import { Button } from '~/ui/Button';
import { Dialog } from '~/ui/Dialog';
import { Field, Input } from '~/ui/Field';
import { Select } from '~/ui/Select';
import { toast } from '~/ui/Toast';
import { useWords } from '~/words';

const BACKENDS: { value: Backend; label: string }[] = [
  { value: 'nccl', label: 'nccl' },
  { value: 'gloo', label: 'gloo' },
  { value: 'mpi', label: 'mpi' },
];

/** The node of a worker: all before its last hyphen. */
const nodeOf = (worker: string) => worker.slice(0, worker.lastIndexOf('-'));

/** A number, nothing for an empty field, and what is no number as it stands: the server says what is wrong with it. */
function given(text: string): number | string | null {
  if (text.trim() === '') return null;
  return Number.isNaN(Number(text)) ? text : Number(text);
}

export function ConfigDialog({ group, onClose }: { group: Group; onClose: () => void }) {
  const { w, number } = useWords();
  const client = useQueryClient();
  const [name, setName] = useState(group.name);
  const [master, setMaster] = useState(group.config.masterAddr ?? '');
  const [worldSize, setWorldSize] = useState(group.config.worldSize?.toString() ?? '');
  const [port, setPort] = useState(group.config.masterPort.toString());
  const [backend, setBackend] = useState<Backend>(group.config.backend);
  const nodes = [...new Set(group.workers.map(nodeOf))];
  const save = useMutation({
    mutationFn: () =>
      groupCalls.change(group.id, {
        name,
        version: group.version,
        config: {
          masterAddr: master.trim() === '' ? null : master.trim(),
          worldSize: given(worldSize),
          masterPort: given(port),
          backend,
        },
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keys.groups });
      toast('good', w.groups.saved, name);
      onClose();
    },
  });
  const error = save.error instanceof ApiError ? save.error : null;
  const at = (field: string) => (error?.field?.endsWith(field) ? error.text : null);
  /** The server speaks of the API's field; here one is looking at it. */
  const ofNumber = (field: string, wanted: string) => (error?.id === 'field_invalid' && at(field) ? wanted : at(field));
  const isPlaced = ['name', 'masterAddr', 'worldSize', 'masterPort'].some((field) => at(field) !== null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title={w.groups.configTitle(group.name)}
      footer={
        <>
          <Button onClick={onClose}>{w.common.cancel}</Button>
          <Button tone="primary" type="submit" form="group-config" isBusy={save.isPending}>
            {w.groups.saveConfig}
          </Button>
        </>
      }
    >
      <form id="group-config" onSubmit={submit} className="grid gap-4 sm:grid-cols-2">
        {error && !isPlaced ? (
          <Banner tone="bad" className="sm:col-span-2">
            {error.text} {error.hint}
          </Banner>
        ) : null}
        <Field label={w.groups.name} error={at('name')} className="sm:col-span-2">
          {(props) => <Input {...props} value={name} onChange={(event) => setName(event.currentTarget.value)} />}
        </Field>
        <Field label={w.groups.master} hint={w.groups.masterHint} error={at('masterAddr')} className="sm:col-span-2">
          {(props) => (
            <>
              <Input
                {...props}
                list="group-nodes"
                value={master}
                placeholder={nodes[0] ?? 'gn6'}
                onChange={(event) => setMaster(event.currentTarget.value)}
              />
              <datalist id="group-nodes">
                {nodes.map((node) => (
                  <option key={node} value={node} />
                ))}
              </datalist>
            </>
          )}
        </Field>
        <Field
          label={w.groups.worldSize}
          hint={w.groups.worldSizeHint(number(group.workers.length))}
          error={ofNumber('worldSize', w.groups.worldSizeWrong)}
          className="sm:col-span-2"
        >
          {(props) => (
            <Input
              {...props}
              inputMode="numeric"
              value={worldSize}
              placeholder={String(group.workers.length)}
              onChange={(event) => setWorldSize(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label={w.groups.port} hint={w.groups.portHint} error={ofNumber('masterPort', w.groups.portWrong)}>
          {(props) => (
            <Input
              {...props}
              inputMode="numeric"
              value={port}
              placeholder="29500"
              onChange={(event) => setPort(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label={w.groups.backend} hint={w.groups.backendHint}>
          {(props) => <Select id={props.id} value={backend} onChange={setBackend} options={BACKENDS} />}
        </Field>
      </form>
    </Dialog>
  );
}
