import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { keepToken, useTokenMissing } from '~/api/token';
import { Button } from '~/ui/Button';
import { Dialog } from '~/ui/Dialog';
import { Field, Input } from '~/ui/Field';
import { useWords } from '~/words';

export function TokenDialog() {
  const { w } = useWords();
  const client = useQueryClient();
  const isMissing = useTokenMissing();
  const [value, setValue] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (value.trim() === '') return;
    keepToken(value);
    setValue('');
    void client.invalidateQueries();
  };
  return (
    <Dialog
      open={isMissing}
      onOpenChange={() => {}}
      title={w.shell.tokenTitle}
      description={w.shell.tokenText}
      size="sm"
      isLasting
      footer={
        <Button tone="primary" type="submit" form="token">
          {w.shell.tokenSave}
        </Button>
      }
    >
      <form id="token" onSubmit={submit}>
        <Field label={w.shell.tokenLabel}>
          {(props) => (
            <Input {...props} type="password" value={value} onChange={(event) => setValue(event.currentTarget.value)} />
          )}
        </Field>
      </form>
    </Dialog>
  );
}
