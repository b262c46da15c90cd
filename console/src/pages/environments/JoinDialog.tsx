import { useState } from 'react';
import { quoted } from '~/api/argv';
import { BASE } from '~/api/base';
import type { Environment } from '~/api/types';
import { Command } from '~/ui/Copy';
import { Dialog } from '~/ui/Dialog';
import { Field, Input } from '~/ui/Field';
import { Select } from '~/ui/Select';
import { useWords } from '~/words';

const KINDS: Environment['kind'][] = ['jupyter', 'vscode', 'ssh', 'custom'];

/** The command that makes a machine an environment of this server. */
export function JoinDialog({ onClose }: { onClose: () => void }) {
  const { w } = useWords();
  const [name, setName] = useState('my-env');
  const [zone, setZone] = useState('北京可用区A');
  const [workers, setWorkers] = useState('2');
  const [kind, setKind] = useState<Environment['kind']>('jupyter');
  const server = new URL(BASE, window.location.origin).href.replace(/\/$/, '');
  const flags: [string, string][] = [
    ['--server', server],
    ['--name', name.trim()],
    ['--zone', zone.trim()],
    ['--workers', workers.trim()],
    ['--kind', kind],
  ];
  const command = [
    'fermi agent',
    ...flags.filter(([, value]) => value).map(([flag, value]) => `${flag} ${quoted(value)}`),
  ];
  return (
    <Dialog open onOpenChange={onClose} title={w.environments.joinTitle} description={w.environments.joinHint}>
      <div className="flex flex-col gap-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label={w.environments.joinName}>
            {(props) => <Input {...props} value={name} onChange={(event) => setName(event.currentTarget.value)} />}
          </Field>
          <Field label={w.environments.joinZone}>
            {(props) => <Input {...props} value={zone} onChange={(event) => setZone(event.currentTarget.value)} />}
          </Field>
          <Field label={w.environments.joinKind}>
            {(props) => (
              <Select
                id={props.id}
                className="w-full"
                value={kind}
                onChange={setKind}
                options={KINDS.map((value) => ({ value, label: w.environments.kinds[value] }))}
              />
            )}
          </Field>
          <Field label={w.environments.joinWorkers} hint={w.environments.joinWorkersHint}>
            {(props) => (
              <Input
                {...props}
                type="number"
                min={1}
                value={workers}
                onChange={(event) => setWorkers(event.currentTarget.value)}
              />
            )}
          </Field>
        </div>
        <Command text={command.join(' ')} />
        <p className="text-xs text-muted">{w.environments.joinToken}</p>
      </div>
    </Dialog>
  );
}
