import type { QueryKey } from '@tanstack/react-query';
import { useState } from 'react';
import { TextField } from '~/ui/TextField';
import { ActDialog } from './ActDialog';

/** A line of text to fill in; its key is the field's name in the API. */
type LineField<Key extends string> = {
  key: Key;
  label: string;
  hint?: string;
  isRequired?: boolean;
  start?: string;
};

type RegisterDialogProps<Key extends string> = {
  title: string;
  submit: string;
  fields: readonly LineField<Key>[];
  /** Sends what was filled in; what is refused is said at its field. */
  call: (values: Record<Key, string>) => Promise<unknown>;
  changes: QueryKey[];
  done: string;
  onClose: () => void;
};

/** A dialog in which a thing of a registry is made, from a few lines of text. */
export function RegisterDialog<Key extends string>(props: RegisterDialogProps<Key>) {
  const { fields, call, done, ...dialog } = props;
  const [values, setValues] = useState(
    () => Object.fromEntries(fields.map(({ key, start = '' }) => [key, start])) as Record<Key, string>,
  );
  return (
    <ActDialog {...dialog} call={() => call(values)} done={() => done}>
      {(refusedAt) =>
        fields.map(({ key, label, hint, isRequired = false }) => (
          <TextField
            key={key}
            label={label}
            hint={hint}
            isRequired={isRequired}
            error={refusedAt(key)}
            value={values[key]}
            onChange={(value) => setValues((before) => ({ ...before, [key]: value }))}
          />
        ))
      }
    </ActDialog>
  );
}
