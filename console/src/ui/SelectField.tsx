import type { ReactNode } from 'react';
import { Field } from './Field';
import { type Option, Select } from './Select';

type SelectFieldProps<V extends string> = {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | null | undefined;
  value: V | null;
  options: readonly Option<V>[];
  onChange: (value: V) => void;
};

/** One of few choices, with its label. */
export function SelectField<V extends string>({ label, hint, error, ...select }: SelectFieldProps<V>) {
  return (
    <Field label={label} hint={hint} error={error}>
      {({ id }) => <Select {...select} id={id} className="w-full min-w-0!" />}
    </Field>
  );
}
