import { useState } from 'react';
import { ActDialog } from '~/api/ActDialog';
import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import { TextField } from '~/ui/TextField';
import { useWords } from '~/words';

type PasswordDialogProps = { user: string; isOwn: boolean; onClose: () => void };

/** Sets a password; one's own takes the one until now. */
export function PasswordDialog({ user, isOwn, onClose }: PasswordDialogProps) {
  const { w } = useWords();
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const params = { path: { name: user } };
  const body = { password, current: isOwn ? current : null };
  return (
    <ActDialog
      title={w.settings.passwordOf(user)}
      description={w.settings.passwordHint}
      submit={w.common.save}
      call={() => q(client.POST('/api/v1/users/{name}/password', { params, body }))}
      changes={[keys.tokens]}
      done={() => w.settings.passwordSet(user)}
      onClose={onClose}
    >
      {(refusedAt) => (
        <>
          {isOwn ? (
            <TextField
              label={w.settings.passwordNow}
              error={refusedAt('current')}
              type="password"
              autoComplete="current-password"
              value={current}
              onChange={setCurrent}
            />
          ) : null}
          <TextField
            label={w.settings.passwordNew}
            error={refusedAt('password')}
            type="password"
            autoComplete="new-password"
            value={password}
            onChange={setPassword}
          />
        </>
      )}
    </ActDialog>
  );
}
