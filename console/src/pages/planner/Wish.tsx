import type { Model } from '~/api/types';
import { Combobox } from '~/ui/Combobox';
import { Field } from '~/ui/Field';
import { NumberField } from '~/ui/NumberField';
import { SelectField } from '~/ui/SelectField';
import { useWords } from '~/words';
import { type PlannerSearch, PRECISIONS } from './search';

const USUAL_SEQUENCE = '2048';
const USUAL_SHARE = 8;

type WishProps = {
  models: readonly Model[];
  search: PlannerSearch;
  gpus: number;
  onChange: (patch: { [Key in keyof PlannerSearch]?: PlannerSearch[Key] | undefined }) => void;
};

/** What shall be trained, and with which numbers. */
export function Wish({ models, search, gpus, onChange }: WishProps) {
  const { w, number } = useWords();
  return (
    <div className="grid grid-cols-2 items-start gap-4 px-4 pt-4 lg:grid-cols-[minmax(0,2fr)_repeat(3,minmax(0,1fr))]">
      <Field label={w.planner.model} className="col-span-2 min-w-0 lg:col-span-1">
        {(props) => (
          <Combobox
            id={props.id}
            placeholder={w.planner.chooseModel}
            value={models.some(({ id }) => id === search.model) ? (search.model ?? null) : null}
            onChange={(next) => onChange({ model: next ?? undefined })}
            options={models.map(({ id, name, path }) => ({ value: id, label: name, ...(path ? { note: path } : {}) }))}
          />
        )}
      </Field>
      <NumberField
        label={w.planner.sequence}
        min={1}
        inputMode="numeric"
        placeholder={USUAL_SEQUENCE}
        value={`${search.seq ?? ''}`}
        onChange={(typed) => onChange({ seq: whole(typed) })}
      />
      <NumberField
        label={w.planner.batch}
        min={1}
        inputMode="numeric"
        placeholder={w.planner.batchUsual(number(gpus * USUAL_SHARE))}
        value={`${search.batch ?? ''}`}
        onChange={(typed) => onChange({ batch: whole(typed) })}
      />
      <SelectField
        label={w.planner.precision}
        value={search.precision ?? 'bf16'}
        options={PRECISIONS.map((value) => ({ value, label: value }))}
        onChange={(precision) => onChange({ precision: precision === 'bf16' ? undefined : precision })}
      />
    </div>
  );
}

/** What was typed as a whole number from 1 up; nothing where it is none. */
function whole(typed: string): number | undefined {
  return Math.floor(Number(typed)) || undefined;
}
