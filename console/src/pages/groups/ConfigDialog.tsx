import { useState } from 'react';
import { ActDialog } from '~/api/ActDialog';
import { type Backend, type Group, groupCalls } from '~/api/groups';
import { keys } from '~/api/queries';
import { SelectField } from '~/ui/SelectField';
import { TextField } from '~/ui/TextField';
import { useWords } from '~/words';

const BACKENDS: Backend[] = ['nccl', 'gloo', 'mpi'];

/** The node of a worker: all before its last hyphen. */
const nodeOf = (worker: string) => worker.slice(0, worker.lastIndexOf('-'));

/** A number, nothing for an empty field, and what is no number as it stands: the server says what is wrong with it. */
function given(text: string): number | string | null {
  if (text.trim() === '') return null;
  return Number.isNaN(Number(text)) ? text : Number(text);
}

/** The name of a group, and what its tasks are launched with. */
export function ConfigDialog({ group, onClose }: { group: Group; onClose: () => void }) {
  const { w, number } = useWords();
  const [name, setName] = useState(group.name);
  const [master, setMaster] = useState(group.config.masterAddr ?? '');
  const [worldSize, setWorldSize] = useState(group.config.worldSize?.toString() ?? '');
  const [port, setPort] = useState(group.config.masterPort.toString());
  const [backend, setBackend] = useState<Backend>(group.config.backend);
  const nodes = [...new Set(group.workers.map(nodeOf))];
  const config = {
    masterAddr: master.trim() === '' ? null : master.trim(),
    worldSize: given(worldSize),
    masterPort: given(port),
    backend,
  };
  return (
    <ActDialog
      title={w.groups.configTitle(group.name)}
      submit={w.groups.saveConfig}
      call={() => groupCalls.change(group.id, { name, version: group.version, config })}
      changes={[keys.groups]}
      done={() => w.groups.saved}
      onClose={onClose}
    >
      {(refusedAt, id) => {
        /** The server speaks of the API's field; here one is looking at it. */
        const ofNumber = (field: string, wanted: string) => {
          const said = refusedAt(field);
          return said !== null && id === 'field_invalid' ? wanted : said;
        };
        return (
          <>
            <TextField label={w.groups.name} error={refusedAt('name')} value={name} onChange={setName} />
            <TextField
              label={w.groups.master}
              hint={w.groups.masterHint}
              error={refusedAt('config.masterAddr')}
              list="group-nodes"
              value={master}
              placeholder={nodes[0] ?? 'gn6'}
              onChange={setMaster}
            />
            <datalist id="group-nodes">
              {nodes.map((node) => (
                <option key={node} value={node} />
              ))}
            </datalist>
            <TextField
              label={w.groups.worldSize}
              hint={w.groups.worldSizeHint(number(group.workers.length))}
              error={ofNumber('config.worldSize', w.groups.worldSizeWrong)}
              inputMode="numeric"
              value={worldSize}
              placeholder={String(group.workers.length)}
              onChange={setWorldSize}
            />
            <div className="grid items-start gap-4 sm:grid-cols-2">
              <TextField
                label={w.groups.port}
                hint={w.groups.portHint}
                error={ofNumber('config.masterPort', w.groups.portWrong)}
                inputMode="numeric"
                value={port}
                placeholder="29500"
                onChange={setPort}
              />
              <SelectField
                label={w.groups.backend}
                hint={w.groups.backendHint}
                value={backend}
                onChange={setBackend}
                options={BACKENDS.map((value) => ({ value, label: value }))}
              />
            </div>
          </>
        );
      }}
    </ActDialog>
  );
}
