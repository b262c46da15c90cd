import { Combobox as Base } from '@base-ui/react/combobox';
import { classes } from './classes';
import { INPUT } from './Field';
import { CheckIcon, ChevronDownIcon } from './icons';
import { useLabels } from './Labels';
import { POPUP, POPUP_ITEM } from './Menu';
import type { Option } from './Select';

type ComboboxProps<V extends string> = {
  value: V | null;
  onChange: (value: V | null) => void;
  options: readonly Option<V>[];
  placeholder?: string;
  'aria-label'?: string;
  id?: string;
  className?: string;
};

/** Many choices, found by typing. */
export function Combobox<V extends string>({
  value,
  onChange,
  options,
  placeholder,
  className,
  id,
  ...aria
}: ComboboxProps<V>) {
  const labels = useLabels();
  const chosen = options.find((option) => option.value === value) ?? null;
  return (
    <Base.Root
      items={options as Option<V>[]}
      value={chosen}
      onValueChange={(next) => onChange(next?.value ?? null)}
      isItemEqualToValue={(a, b) => a.value === b.value}
      autoHighlight
    >
      <div className={classes('relative', className)}>
        <Base.Input
          {...aria}
          {...(id ? { id } : {})}
          placeholder={placeholder}
          className={classes(INPUT, 'w-full pr-8')}
        />
        <Base.Trigger
          aria-label={aria['aria-label'] ?? placeholder ?? ''}
          tabIndex={-1}
          className="absolute top-0 right-0 flex h-8 w-8 items-center justify-center text-faint"
        >
          <ChevronDownIcon />
        </Base.Trigger>
      </div>
      <Base.Portal>
        <Base.Positioner sideOffset={6} className="z-50 outline-none">
          <Base.Popup className={classes(POPUP, 'max-h-80 w-(--anchor-width) overflow-y-auto')}>
            <Base.Empty className="px-2 py-1.5 text-sm text-muted empty:p-0">{labels.noMatch}</Base.Empty>
            <Base.List>
              {(option: Option<V>) => (
                <Base.Item key={option.value} value={option} disabled={option.disabled ?? false} className={POPUP_ITEM}>
                  <span className="min-w-0 flex-1">
                    <span className="block truncate">{option.label}</span>
                    {option.note ? <span className="block truncate text-xs text-muted">{option.note}</span> : null}
                  </span>
                  <Base.ItemIndicator>
                    <CheckIcon className="text-accent" />
                  </Base.ItemIndicator>
                </Base.Item>
              )}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
