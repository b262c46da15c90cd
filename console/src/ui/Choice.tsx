import { useId } from 'react';
import { classes } from './classes';

type ChoiceProps<V extends string> = {
  label: string;
  value: V;
  options: readonly { value: V; label: string }[];
  onChange: (value: V) => void;
  isLabelHidden?: boolean;
};

/** Two to five choices, all in sight. */
export function Choice<V extends string>({ label, value, options, onChange, isLabelHidden }: ChoiceProps<V>) {
  const id = useId();
  return (
    <fieldset className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <legend className={classes(isLabelHidden ? 'sr-only' : 'float-left w-24 text-sm text-muted')}>{label}</legend>
      <div className="inline-flex h-8 rounded-md border border-line-strong bg-sunken p-0.5">
        {options.map((option) => (
          <label
            key={option.value}
            className={classes(
              'inline-flex cursor-pointer items-center rounded px-3 text-sm whitespace-nowrap transition-colors has-focus-visible:outline-2 has-focus-visible:outline-accent',
              option.value === value
                ? 'bg-raised font-medium text-text shadow-sm inset-ring inset-ring-line'
                : 'text-muted hover:text-text',
            )}
          >
            <input
              type="radio"
              name={id}
              className="sr-only"
              checked={option.value === value}
              onChange={() => onChange(option.value)}
            />
            {option.label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
