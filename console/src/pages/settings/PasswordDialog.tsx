import { useState } from 'react';
import { ActDialog } from '~/api/ActDialog';
import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import { useWords } from '~/words';
import { PasswordField } from './PasswordField';

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
            <PasswordField
              kind="current"
              label={w.settings.passwordNow}
              error={refusedAt('current')}
              value={current}
              onChange={setCurrent}
            />
          ) : null}
          <PasswordField
            kind="new"
            label={w.settings.passwordNew}
            error={refusedAt('password')}
            value={password}
            onChange={setPassword}
          />
        </>
      )}
    </ActDialog>
  );
}
