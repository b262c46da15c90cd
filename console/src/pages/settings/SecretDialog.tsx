import { useState } from 'react';
import { ActDialog } from '~/api/ActDialog';
import { setSecret } from '~/api/access';
import { keys } from '~/api/queries';
import { TextField } from '~/ui/TextField';
import { Tick } from '~/ui/Tick';
import { useWords } from '~/words';

/** Keeps a secret, in the place of one of the same name. */
export function SecretDialog({ onClose }: { onClose: () => void }) {
  const { w } = useWords();
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  const [isShared, setShared] = useState(false);
  return (
    <ActDialog
      title={w.settings.setSecret}
      description={w.settings.secretOnce}
      submit={w.common.save}
      call={() => setSecret({ name: name.trim(), value, shared: isShared })}
      changes={[keys.secrets]}
      done={() => w.settings.secretKept(name.trim())}
      onClose={onClose}
    >
      {(refusedAt) => (
        <>
          <TextField label={w.common.name} isRequired error={refusedAt('name')} value={name} onChange={setName} />
          <TextField
            label={w.settings.secretValue}
            isRequired
            error={refusedAt('value')}
            type="password"
            value={value}
            onChange={setValue}
          />
          <Tick label={w.settings.secretShared} isTicked={isShared} onChange={setShared} />
        </>
      )}
    </ActDialog>
  );
}
