import { useState } from 'react';
import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import { refusalOf, useAct } from '~/api/useAct';
import { Field, Input } from '~/ui/Field';
import { FormDialog } from '~/ui/FormDialog';
import { useWords } from '~/words';

type PasswordDialogProps = { user: string; isOwn: boolean; onClose: () => void };

/** Sets a password; one's own takes the one until now. */
export function PasswordDialog({ user, isOwn, onClose }: PasswordDialogProps) {
  const { w } = useWords();
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const set = useAct({
    call: () =>
      q(
        client.POST('/api/v1/users/{name}/password', {
          params: { path: { name: user } },
          body: { password, current: isOwn ? current : null },
        }),
      ),
    changes: [keys.tokens],
    done: () => w.settings.passwordSet(user),
    onDone: onClose,
    isQuiet: true,
  });
  const refusal = refusalOf(set.error);
  return (
    <FormDialog
      title={w.settings.passwordOf(user)}
      description={w.settings.passwordHint}
      submit={w.common.save}
      cancel={w.common.cancel}
      isBusy={set.isPending}
      error={refusal.hasField ? null : refusal.text}
      onSubmit={() => set.mutate(undefined)}
      onClose={onClose}
    >
      {isOwn ? (
        <Field label={w.settings.passwordNow} error={refusal.at('current')}>
          {(props) => (
            <Input
              {...props}
              type="password"
              autoComplete="current-password"
              value={current}
              onChange={(event) => setCurrent(event.currentTarget.value)}
            />
          )}
        </Field>
      ) : null}
      <Field label={w.settings.passwordNew} error={refusal.at('password')}>
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
