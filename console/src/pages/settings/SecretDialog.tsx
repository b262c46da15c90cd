import { useState } from 'react';
import { setSecret } from '~/api/access';
import { keys } from '~/api/queries';
import { refusalOf, useAct } from '~/api/useAct';
import { Field, Input } from '~/ui/Field';
import { FormDialog } from '~/ui/FormDialog';
import { useWords } from '~/words';

/** Keeps a secret, in the place of one of the same name. */
export function SecretDialog({ onClose }: { onClose: () => void }) {
  const { w } = useWords();
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  const [isShared, setShared] = useState(false);
  const keep = useAct({
    call: () => setSecret({ name: name.trim(), value, shared: isShared }),
    changes: [keys.secrets],
    done: () => w.settings.secretKept(name.trim()),
    onDone: onClose,
    isQuiet: true,
  });
  const refusal = refusalOf(keep.error);
  return (
    <FormDialog
      title={w.settings.setSecret}
      description={w.settings.secretOnce}
      submit={w.common.save}
      cancel={w.common.cancel}
      isBusy={keep.isPending}
      error={refusal.hasField ? null : refusal.text}
      onSubmit={() => keep.mutate(undefined)}
      onClose={onClose}
    >
      <Field label={w.common.name} isRequired error={refusal.at('name')}>
        {(props) => <Input {...props} value={name} onChange={(event) => setName(event.currentTarget.value)} />}
      </Field>
      <Field label={w.settings.secretValue} isRequired error={refusal.at('value')}>
        {(props) => (
          <Input
            {...props}
            type="password"
            autoComplete="off"
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
        )}
      </Field>
      <label htmlFor="secret-shared" className="flex cursor-pointer items-center gap-2 text-sm">
        <input
          id="secret-shared"
          type="checkbox"
          className="size-4 accent-(--accent)"
          checked={isShared}
          onChange={(event) => setShared(event.currentTarget.checked)}
        />
        {w.settings.secretShared}
      </label>
    </FormDialog>
  );
}
