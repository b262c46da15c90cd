import { valuesOf } from '~/api/environments';
import type { Environment } from '~/api/types';
import { Field, Input } from '~/ui/Field';
import { type Option, Select } from '~/ui/Select';
import { SelectField } from '~/ui/SelectField';
import { useWords } from '~/words';
import type { AutoForm } from './form';
import { anchor } from './refusal';
import { type PartProps, refusedAt } from './useCreate';

const ANY = 'any';
const UNITS = ['gpus', 'workers'] as const;

/** What the server shall pick: as many nodes, with as much on each, of such a kind. */
export function Auto({ form, set, refused, environments }: PartProps & { environments: readonly Environment[] }) {
  const { w } = useWords();
  const { auto } = form;
  const change = (patch: Partial<AutoForm>) => set({ auto: { ...auto, ...patch } });
  const error = refusedAt(refused, 'environments');
  const known = valuesOf(environments, 'label');
  const among = (values: string[], chosen: string): Option[] => [
    { value: ANY, label: w.create.any },
    ...[...new Set([...values, ...(chosen ? [chosen] : [])])].map((value) => ({ value, label: value })),
  ];
  const any = (value: string) => (value === ANY ? '' : value);
  return (
    <section id={anchor('environments')} aria-label={w.create.modes.auto} className="flex flex-col gap-3">
      {error ? (
        <p role="alert" className="text-xs text-bad">
          {error}
        </p>
      ) : null}
      <div className="grid grid-cols-2 gap-4 sm:grid-cols-4">
        <Field label={w.create.autoNodes}>
          {(props) => <Count {...props} value={auto.nodes} onChange={(nodes) => change({ nodes })} />}
        </Field>
        <Field label={w.create.autoPerNode}>
          {(props) => (
            <div className="flex">
              <Count
                {...props}
                className="rounded-r-none"
                value={auto.perNode}
                onChange={(perNode) => change({ perNode })}
              />
              <Select
                aria-label={w.create.autoUnit}
                className="-ml-px !min-w-0 shrink-0 rounded-l-none !px-2"
                value={auto.unit}
                onChange={(unit) => change({ unit })}
                options={UNITS.map((value) => ({ value, label: w.create.autoUnits[value] }))}
              />
            </div>
          )}
        </Field>
        <SelectField
          label={w.create.autoGpu}
          value={auto.gpuType || ANY}
          onChange={(gpuType) => change({ gpuType: any(gpuType) })}
          options={among(valuesOf(environments, 'gpu'), auto.gpuType)}
        />
        <SelectField
          label={w.common.zone}
          value={auto.zone || ANY}
          onChange={(zone) => change({ zone: any(zone) })}
          options={among(valuesOf(environments, 'zone'), auto.zone)}
        />
        <Field
          label={w.create.autoLabels}
          hint={known.length > 0 ? w.create.autoLabelsKnown(known.slice(0, 6).join(' ')) : w.create.autoLabelsHint}
          className="col-span-2 sm:col-span-4"
        >
          {(props) => (
            <Input
              {...props}
              className="w-full font-mono"
              placeholder={known[0] ?? 'team=nlp'}
              value={auto.labels}
              onChange={(event) => change({ labels: event.currentTarget.value })}
            />
          )}
        </Field>
      </div>
    </section>
  );
}

type CountProps = { id: string; className?: string; value: string; onChange: (value: string) => void };

function Count({ onChange, className, ...rest }: CountProps) {
  return (
    <Input
      {...rest}
      type="number"
      min={1}
      inputMode="numeric"
      placeholder="1"
      className={`w-full min-w-0 ${className ?? ''}`}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
