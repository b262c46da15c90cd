import { useState } from 'react';
import { ROLES, type RoleName } from '~/api/access';
import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import { refusalOf, useAct } from '~/api/useAct';
import { Field, Input } from '~/ui/Field';
import { FormDialog } from '~/ui/FormDialog';
import { Select } from '~/ui/Select';
import { useWords } from '~/words';

/** Adds a person who may log in. */
export function UserDialog({ onClose }: { onClose: () => void }) {
  const { w } = useWords();
  const [name, setName] = useState('');
  const [role, setRole] = useState<RoleName>('member');
  const [password, setPassword] = useState('');
  const add = useAct({
    call: () => q(client.POST('/api/v1/users', { body: { name: name.trim(), role, password } })),
    changes: [keys.users],
    done: () => w.settings.userAdded(name.trim()),
    onDone: onClose,
    isQuiet: true,
  });
  const refusal = refusalOf(add.error);
  return (
    <FormDialog
      title={w.settings.addUser}
      submit={w.settings.addUser}
      cancel={w.common.cancel}
      isBusy={add.isPending}
      error={refusal.hasField ? null : refusal.text}
      onSubmit={() => add.mutate(undefined)}
      onClose={onClose}
    >
      <Field label={w.settings.userName} isRequired error={refusal.at('name')}>
        {(props) => <Input {...props} value={name} onChange={(event) => setName(event.currentTarget.value)} />}
      </Field>
      <Field label={w.settings.role} hint={w.settings.roleMay[role]} error={refusal.at('role')}>
        {(props) => (
          <Select
            id={props.id}
            className="w-full"
            value={role}
            onChange={setRole}
            options={ROLES.map((value) => ({ value, label: w.settings.roles[value] }))}
          />
        )}
      </Field>
      <Field label={w.settings.password} isRequired hint={w.settings.passwordRule} error={refusal.at('password')}>
        {(props) => (
          <Input
            {...props}
            type="password"
            autoComplete="new-password"
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
