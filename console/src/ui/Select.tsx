import { Select as Base } from '@base-ui/react/select';
import type { ReactNode } from 'react';
import { classes } from './classes';
import { CheckIcon, ChevronDownIcon } from './icons';
import { POPUP, POPUP_ITEM } from './Menu';

export type Option<V extends string = string> = { value: V; label: string; note?: ReactNode; disabled?: boolean };

type SelectProps<V extends string> = {
  value: V | null;
  onChange: (value: V) => void;
  options: readonly Option<V>[];
  'aria-label'?: string;
  'aria-labelledby'?: string;
  id?: string;
  placeholder?: string;
  disabled?: boolean;
  /** Why it cannot be changed. */
  disabledReason?: string | null | undefined;
  className?: string;
};

/** Few choices. Many, or ones to search in, are a `Combobox`. */
export function Select<V extends string>({
  value,
  onChange,
  options,
  placeholder,
  disabled,
  disabledReason,
  className,
  id,
  ...aria
}: SelectProps<V>) {
  return (
    <Base.Root
      items={options as Option<V>[]}
      value={value}
      disabled={disabled || Boolean(disabledReason)}
      onValueChange={(next) => {
        if (next !== null) onChange(next as V);
      }}
    >
      <Base.Trigger
        {...aria}
        {...(id ? { id } : {})}
        title={disabledReason ?? undefined}
        className={classes(
          'inline-flex h-8 min-w-36 items-center justify-between gap-2 rounded-md border border-line-strong bg-surface px-3 text-sm transition-colors hover:bg-hover data-disabled:opacity-50',
          className,
        )}
      >
        <span className="min-w-0 truncate">
          <Base.Value>
            {(shown: V | null) => options.find((option) => option.value === shown)?.label ?? placeholder ?? '–'}
          </Base.Value>
        </span>
        <Base.Icon>
          <ChevronDownIcon className="text-faint" />
        </Base.Icon>
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner sideOffset={6} alignItemWithTrigger={false} className="z-50 outline-none">
          <Base.Popup className={classes(POPUP, 'max-h-80 min-w-(--anchor-width) overflow-y-auto')}>
            {options.map((option) => (
              <Base.Item
                key={option.value}
                value={option.value}
                disabled={option.disabled ?? false}
                className={POPUP_ITEM}
              >
                <Base.ItemText className="min-w-0 flex-1">
                  <span className="block truncate">{option.label}</span>
                  {option.note ? <span className="block text-xs text-muted">{option.note}</span> : null}
                </Base.ItemText>
                <Base.ItemIndicator>
                  <CheckIcon className="text-accent" />
                </Base.ItemIndicator>
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
