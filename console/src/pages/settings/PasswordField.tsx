import type { ReactNode } from 'react';
import { TextField } from '~/ui/TextField';

type PasswordFieldProps = {
  /** What browsers that keep passwords offer: the one until now, or a new one. */
  kind: 'current' | 'new';
  label: string;
  hint?: ReactNode;
  error: string | null | undefined;
  isRequired?: boolean;
  value: string;
  onChange: (value: string) => void;
};

export function PasswordField({ kind, ...rest }: PasswordFieldProps) {
  return <TextField {...rest} type="password" autoComplete={`${kind}-password`} />;
}
