import { Checkbox as Base } from '@base-ui/react/checkbox';
import { classes } from './classes';
import { CheckIcon, MinusIcon } from './icons';

type CheckboxProps = {
  checked: boolean;
  isMixed?: boolean;
  onChange: (checked: boolean, event: Event) => void;
  disabled?: boolean;
  className?: string;
} & ({ 'aria-label': string } | { 'aria-labelledby': string });

export function Checkbox({ checked, isMixed, onChange, disabled, className, ...aria }: CheckboxProps) {
  return (
    <Base.Root
      {...aria}
      checked={checked}
      indeterminate={isMixed ?? false}
      disabled={disabled ?? false}
      onCheckedChange={(next, details) => onChange(next, details.event)}
      className={classes(
        'flex size-4 shrink-0 items-center justify-center rounded border border-line-strong bg-surface transition-colors data-checked:border-accent data-checked:bg-accent data-disabled:opacity-50 data-indeterminate:border-accent data-indeterminate:bg-accent',
        className,
      )}
    >
      <Base.Indicator className="flex text-on-accent">
        {isMixed ? (
          <MinusIcon width="12" height="12" strokeWidth="2.5" />
        ) : (
          <CheckIcon width="12" height="12" strokeWidth="2.5" />
        )}
      </Base.Indicator>
    </Base.Root>
  );
}
