import { type InputHTMLAttributes, type ReactNode, type Ref, type TextareaHTMLAttributes, useId } from 'react';
import { classes } from './classes';
import { SearchIcon } from './icons';
import { prose } from './prose';

export const INPUT =
  'h-8 rounded-md border text-ellipsis border-line-strong bg-surface px-3 text-sm text-text transition-colors hover:border-faint focus:border-accent focus:outline-2 focus:outline-accent/30 focus:outline-offset-0 aria-invalid:border-bad';

type FieldProps = {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | null | undefined;
  isRequired?: boolean;
  className?: string;
  /** Gets what ties the input to its label, hint and error. */
  children: (props: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: boolean }) => ReactNode;
};

/** A label, an input, and what is to be said about it. */
export function Field({ label, hint, error, isRequired, className, children }: FieldProps) {
  const id = useId();
  const about = error || hint ? `${id}-about` : undefined;
  return (
    <div className={classes('flex flex-col gap-1.5', className)}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
        {isRequired ? (
          <span aria-hidden="true" className="ml-1 text-bad">
            *
          </span>
        ) : null}
      </label>
      {children({ id, ...(about ? { 'aria-describedby': about } : {}), ...(error ? { 'aria-invalid': true } : {}) })}
      {error ? (
        <p id={about} role="alert" className="text-xs text-bad">
          {prose(error)}
        </p>
      ) : hint ? (
        <p id={about} className="text-xs text-muted">
          {prose(hint)}
        </p>
      ) : null}
    </div>
  );
}

export function Input({ className, ...rest }: InputHTMLAttributes<HTMLInputElement> & { ref?: Ref<HTMLInputElement> }) {
  return <input type="text" autoComplete="off" spellCheck={false} {...rest} className={classes(INPUT, className)} />;
}

export function TextArea({ className, ...rest }: TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return <textarea spellCheck={false} {...rest} className={classes(INPUT, 'h-auto min-h-20 py-2', className)} />;
}

/** `data-search` lets the key `/` find it. */
export function SearchInput({
  label,
  value,
  onChange,
  className,
  placeholder,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  className?: string;
  placeholder?: string;
}) {
  return (
    <div className={classes('relative', className)}>
      <SearchIcon className="pointer-events-none absolute top-2 left-2.5 text-faint" />
      <Input
        type="search"
        data-search=""
        aria-label={label}
        title={placeholder ? label : undefined}
        placeholder={placeholder ?? label}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        className="w-full pl-8"
      />
    </div>
  );
}
