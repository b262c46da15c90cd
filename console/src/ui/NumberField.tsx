import type { InputHTMLAttributes, ReactNode } from 'react';
import { Field, Input } from './Field';

type NumberFieldProps = Pick<InputHTMLAttributes<HTMLInputElement>, 'min' | 'step' | 'inputMode' | 'placeholder'> & {
  label: ReactNode;
  hint?: ReactNode;
  value: string;
  onChange: (value: string) => void;
};

/** A number with its label, as it is typed; empty where what is usual is wanted. */
export function NumberField({ label, hint, value, onChange, ...rest }: NumberFieldProps) {
  return (
    <Field label={label} hint={hint} className="min-w-0">
      {(props) => (
        <Input
          {...rest}
          {...props}
          type="number"
          className="w-full min-w-0"
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
