import type { QueryKey } from '@tanstack/react-query';
import { useState } from 'react';
import { Field, Input } from '~/ui/Field';
import { FormDialog } from '~/ui/FormDialog';
import { useWords } from '~/words';
import { refusalOf } from './error';
import { useAct } from './useAct';

/** A line of text to fill in; its key is the field's name in the API. */
export type TextField<Key extends string> = {
  key: Key;
  label: string;
  hint?: string;
  isRequired?: boolean;
  start?: string;
};

type RegisterDialogProps<Key extends string> = {
  title: string;
  submit: string;
  fields: readonly TextField<Key>[];
  /** Sends what was filled in; what is refused is said at its field. */
  call: (values: Record<Key, string>) => Promise<unknown>;
  changes: QueryKey[];
  done: string;
  onClose: () => void;
};

/** A dialog in which a thing of a registry is made, from a few lines of text. */
export function RegisterDialog<Key extends string>(props: RegisterDialogProps<Key>) {
  const { title, submit, fields, call, changes, done, onClose } = props;
  const { w } = useWords();
  const [values, setValues] = useState(
    () => Object.fromEntries(fields.map(({ key, start = '' }) => [key, start])) as Record<Key, string>,
  );
  const register = useAct({ call: () => call(values), changes, done: () => done, onDone: onClose, isQuiet: true });
  const refusal = refusalOf(register.error, w.common);
  return (
    <FormDialog
      title={title}
      submit={submit}
      cancel={w.common.cancel}
      isBusy={register.isPending}
      error={refusal.hasField ? null : refusal.text}
      onSubmit={() => register.mutate(undefined)}
      onClose={onClose}
    >
      {fields.map(({ key, label, hint, isRequired }) => (
        <Field key={key} label={label} hint={hint} isRequired={isRequired ?? false} error={refusal.at(key)}>
          {(field) => (
            <Input
              {...field}
              value={values[key]}
              onChange={({ currentTarget: { value } }) => setValues((before) => ({ ...before, [key]: value }))}
            />
          )}
        </Field>
      ))}
    </FormDialog>
  );
}
