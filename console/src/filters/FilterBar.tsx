import { Popover } from '@base-ui/react/popover';
import type { ReactNode } from 'react';
import { Button } from '~/ui/Button';
import { Checkbox } from '~/ui/Checkbox';
import { classes } from '~/ui/classes';
import { SearchInput } from '~/ui/Field';
import { ChevronDownIcon, CloseIcon } from '~/ui/icons';
import { POPUP } from '~/ui/Menu';
import { useWords } from '~/words';
import { type FilterField, type FilterValues, toggled } from './schema';

type FilterBarProps = {
  fields: readonly FilterField[];
  values: FilterValues;
  onValues: (values: FilterValues) => void;
  text: string;
  onText: (text: string) => void;
  searchLabel: string;
  /** What the field shows, where its label is longer than it. */
  searchShort?: string;
  /** What stands at the right, such as a sort. */
  children?: ReactNode;
};

/** Search, one menu per field, and a chip for each choice. */
export function FilterBar({
  fields,
  values,
  onValues,
  text,
  onText,
  searchLabel,
  searchShort,
  children,
}: FilterBarProps) {
  const { w } = useWords();
  const isNarrowed = Object.keys(values).length > 0;
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchInput
        label={searchLabel}
        placeholder={searchShort ?? searchLabel}
        value={text}
        onChange={onText}
        className="w-full sm:w-auto sm:max-w-64 sm:grow sm:basis-36"
      />
      {fields.map((field) => (
        <FieldMenu key={field.key} field={field} values={values} onValues={onValues} />
      ))}
      {isNarrowed ? (
        <Button tone="ghost" size="sm" onClick={() => onValues({})}>
          {w.common.clear}
        </Button>
      ) : null}
      <div className="ml-auto flex items-center gap-2">{children}</div>
      {isNarrowed ? (
        <ul className="flex w-full flex-wrap gap-1.5">
          {fields.flatMap((field) =>
            (values[field.key] ?? []).map((value) => (
              <li key={`${field.key} ${value}`}>
                <button
                  type="button"
                  onClick={() => onValues(toggled(values, field, value))}
                  aria-label={`${w.common.clear} ${field.label} ${value}`}
                  className="inline-flex h-6 items-center gap-1.5 rounded-full bg-accent-soft pr-1.5 pl-2.5 text-xs text-accent hover:opacity-80"
                >
                  {field.label}: {field.options.find((option) => option.value === value)?.label ?? value}
                  <CloseIcon width="12" height="12" />
                </button>
              </li>
            )),
          )}
        </ul>
      ) : null}
    </div>
  );
}

function FieldMenu({ field, values, onValues }: { field: FilterField } & Pick<FilterBarProps, 'values' | 'onValues'>) {
  const { w } = useWords();
  const chosen = values[field.key] ?? [];
  return (
    <Popover.Root>
      <Popover.Trigger
        render={
          <Button className={classes(chosen.length > 0 && '!border-accent !text-accent')}>
            {field.label}
            {chosen.length > 0 ? <span className="text-xs">{chosen.length}</span> : null}
            <ChevronDownIcon className="text-faint" />
          </Button>
        }
      />
      <Popover.Portal>
        <Popover.Positioner sideOffset={6} align="start" className="z-50 outline-none">
          <Popover.Popup aria-label={field.label} className={classes(POPUP, 'max-h-80 min-w-48 overflow-y-auto')}>
            {field.options.length === 0 ? <p className="px-2 py-1.5 text-sm text-muted">{w.common.noMatch}</p> : null}
            {field.options.map((option) => {
              const id = `filter-${field.key}-${option.value}`;
              return (
                <label
                  key={option.value}
                  id={id}
                  className="flex cursor-pointer items-center gap-2.5 rounded-md px-2 py-1.5 text-sm hover:bg-hover"
                >
                  <Checkbox
                    aria-labelledby={id}
                    checked={chosen.includes(option.value)}
                    onChange={() => onValues(toggled(values, field, option.value))}
                  />
                  <span className="truncate">{option.label}</span>
                </label>
              );
            })}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}
