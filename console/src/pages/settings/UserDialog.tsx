import { useState } from 'react';
import { ActDialog } from '~/api/ActDialog';
import { ROLES, type RoleName } from '~/api/access';
import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import { SelectField } from '~/ui/SelectField';
import { TextField } from '~/ui/TextField';
import { useWords } from '~/words';
import { PasswordField } from './PasswordField';

/** Adds a person who may log in. */
export function UserDialog({ onClose }: { onClose: () => void }) {
  const { w } = useWords();
  const [name, setName] = useState('');
  const [role, setRole] = useState<RoleName>('member');
  const [password, setPassword] = useState('');
  return (
    <ActDialog
      title={w.settings.addUser}
      submit={w.settings.addUser}
      call={() => q(client.POST('/api/v1/users', { body: { name: name.trim(), role, password } }))}
      changes={[keys.users]}
      done={() => w.settings.userAdded(name.trim())}
      onClose={onClose}
    >
      {(refusedAt) => (
        <>
          <TextField label={w.settings.userName} isRequired error={refusedAt('name')} value={name} onChange={setName} />
          <SelectField
            label={w.settings.role}
            hint={w.settings.roleMay[role]}
            error={refusedAt('role')}
            value={role}
            onChange={setRole}
            options={ROLES.map((value) => ({ value, label: w.settings.roles[value] }))}
          />
          <PasswordField
            kind="new"
            label={w.settings.password}
            isRequired
            hint={w.settings.passwordRule}
            error={refusedAt('password')}
            value={password}
            onChange={setPassword}
          />
        </>
      )}
    </ActDialog>
  );
}
