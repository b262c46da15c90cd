import { Combobox as Base } from '@base-ui/react/combobox';
import { classes } from './classes';
import { INPUT } from './Field';
import { CheckIcon, ChevronDownIcon, CloseIcon, SearchIcon } from './icons';
import { useLabels } from './Labels';
import { POPUP, POPUP_ITEM } from './Menu';
import type { Option } from './Select';

type ComboboxProps<V extends string> = {
  value: V | null;
  onChange: (value: V | null) => void;
  options: readonly Option<V>[];
  placeholder?: string;
  'aria-label'?: string;
  'aria-describedby'?: string;
  'aria-invalid'?: boolean;
  id?: string;
  className?: string;
};

/**
 * Many choices, found by typing. The field to type in is in the list: one beside an open list would have its own label,
 * and the rest of the page, hidden from a screen reader.
 */
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
        <Base.Trigger
          {...aria}
          {...(id ? { id } : {})}
          className={classes(INPUT, 'flex w-full items-center gap-2 text-left', chosen && 'pr-8')}
        >
          <span className={classes('min-w-0 flex-1 truncate', !chosen && 'text-muted')} title={chosen?.label}>
            {chosen?.label ?? placeholder ?? '–'}
          </span>
          {chosen ? null : <ChevronDownIcon className="shrink-0 text-faint" />}
        </Base.Trigger>
        {chosen ? (
          <button
            type="button"
            aria-label={labels.clear}
            title={labels.clear}
            onClick={() => onChange(null)}
            className="absolute top-0 right-0 flex h-8 w-8 items-center justify-center rounded-md text-faint hover:text-text"
          >
            <CloseIcon />
          </button>
        ) : null}
      </div>
      <Base.Portal>
        <Base.Positioner sideOffset={6} align="start" className="z-50 outline-none">
          <Base.Popup aria-label={labels.search} className={classes(POPUP, 'w-(--anchor-width) min-w-60')}>
            <div className="relative mb-1">
              <SearchIcon className="pointer-events-none absolute top-2 left-2.5 text-faint" />
              <Base.Input
                aria-label={labels.search}
                placeholder={labels.search}
                className={classes(INPUT, 'w-full pl-8')}
              />
            </div>
            <Base.Empty className="px-2 py-1.5 text-sm text-muted empty:p-0">{labels.noMatch}</Base.Empty>
            <Base.List className="max-h-72 overflow-y-auto outline-none">
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
