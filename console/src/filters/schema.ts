import { text } from './address';

/** One thing that a list can be narrowed by. */
export type FilterField = {
  /** Its name in the address and in the API's filter. */
  key: string;
  label: string;
  options: readonly { value: string; label: string }[];
  /** The API takes one value of it, not a list. */
  isSingle?: boolean;
};

/** What is chosen, by field; a field without a choice is not there. */
export type FilterValues = Record<string, string[]>;

/** Reads the choices from an address: `status=running,busy`. */
export function readFilters(search: Record<string, unknown>, names: readonly string[]): FilterValues {
  const values: FilterValues = {};
  for (const key of names) {
    const chosen = text(search[key])?.split(',').filter(Boolean) ?? [];
    if (chosen.length > 0) values[key] = chosen;
  }
  return values;
}

/** The choices as parameters of an address; fields without a choice vanish from it. */
export function writeFilters(values: FilterValues, names: readonly string[]): Record<string, string | undefined> {
  return Object.fromEntries(names.map((key) => [key, values[key]?.length ? values[key].join(',') : undefined]));
}

/** A value as the API's filter takes it: in quotes where it has spaces; a double quote cannot be said. */
function quoted(value: string): string {
  const plain = value.replaceAll('"', '');
  return /\s/.test(plain) || plain === '' ? `"${plain}"` : plain;
}

/** The API's filter: `status=running,busy zone="a b" name~bert`. Undefined where nothing is asked for. */
export function toQuery(values: FilterValues, name = ''): string | undefined {
  const parts = Object.entries(values)
    .filter(([, chosen]) => chosen.length > 0)
    .map(([key, chosen]) => `${key}=${quoted(chosen.join(','))}`);
  if (name.trim().replaceAll('"', '') !== '') parts.push(`name~${quoted(name.trim())}`);
  return parts.length > 0 ? parts.join(' ') : undefined;
}

/** The choices after one was ticked or unticked. */
export function toggled(values: FilterValues, field: FilterField, value: string): FilterValues {
  const before = values[field.key] ?? [];
  const isChosen = before.includes(value);
  const after = isChosen ? before.filter((one) => one !== value) : field.isSingle ? [value] : [...before, value];
  const { [field.key]: _, ...others } = values;
  return after.length > 0 ? { ...others, [field.key]: after } : others;
}
