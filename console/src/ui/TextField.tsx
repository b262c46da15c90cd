import type { InputHTMLAttributes, ReactNode } from 'react';
import { Field, Input } from './Field';

type TextFieldProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange' | 'value'> & {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | null | undefined;
  isRequired?: boolean;
  value: string;
  onChange: (value: string) => void;
};

/** A line of text with its label. */
export function TextField({ label, hint, error, isRequired = false, value, onChange, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} isRequired={isRequired}>
      {(props) => (
        <Input {...rest} {...props} value={value} onChange={(event) => onChange(event.currentTarget.value)} />
      )}
    </Field>
  );
}
