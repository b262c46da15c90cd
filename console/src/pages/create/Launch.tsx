import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { NARROWED_BY, narrowed, valuesOf } from '~/api/environments';
import type { Environment } from '~/api/types';
import { readFilters } from '~/filters/schema';
import { Button } from '~/ui/Button';
import { Command } from '~/ui/Copy';
import { classes } from '~/ui/classes';
import { Field, Input } from '~/ui/Field';
import { Select } from '~/ui/Select';
import { useWords } from '~/words';
import type { Mode } from './form';
import { pick } from './pick';
import { withMaster } from './selection';
import type { PartProps } from './useCreate';

const route = getRouteApi('/training/create');
const ANY = 'any';

type LaunchProps = PartProps & { environments: readonly Environment[]; modes: readonly Mode[] };

/** The three ways to come by environments. All end in a choice of existing ones, which the list below shows. */
export function Launch(props: LaunchProps) {
  const { w } = useWords();
  const { mode = 'existing' } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <fieldset className="grid gap-2 sm:grid-cols-3">
        <legend className="sr-only">{w.create.launch}</legend>
        {props.modes.map((one) => (
          <label
            key={one}
            className={classes(
              'flex cursor-pointer items-start gap-2.5 rounded-md border px-3 py-2.5 transition-colors has-focus-visible:outline-2 has-focus-visible:outline-accent',
              one === mode ? 'border-accent bg-accent-soft' : 'border-line hover:bg-hover',
            )}
          >
            <input
              type="radio"
              name="launch-mode"
              className="mt-1 accent-(--accent)"
              checked={one === mode}
              onChange={() =>
                void navigate({
                  search: (before) => ({ ...before, mode: one === 'existing' ? undefined : one }),
                  replace: true,
                })
              }
            />
            <span className="min-w-0">
              <span className="block text-sm font-medium">{w.create.modes[one]}</span>
              <span className="block text-xs text-muted">{w.create.modeHints[one]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {mode === 'auto' ? <Auto {...props} /> : null}
      {mode === 'new' ? <Join {...props} /> : null}
    </>
  );
}

function Auto({ form, set, environments }: LaunchProps) {
  const { w, number } = useWords();
  const [count, setCount] = useState('2');
  const [gpu, setGpu] = useState<string>(ANY);
  const [said, setSaid] = useState<string | null>(null);
  const search = route.useSearch();
  // What the list below is narrowed to.
  const among = narrowed(environments, readFilters(search, NARROWED_BY), search.q ?? '');
  const models = valuesOf(among, 'gpu');
  const choose = () => {
    const found = pick(among, { count: Math.max(1, Number(count) || 1), gpu: gpu === ANY ? '' : gpu });
    if (found) set(withMaster(found, form.masterNode));
    setSaid(found ? w.create.autoFound(number(found.length)) : w.create.autoNone);
  };
  return (
    <form
      className="flex flex-wrap items-end gap-3 rounded-md border border-line bg-sunken p-3"
      onSubmit={(event) => {
        event.preventDefault();
        choose();
      }}
    >
      <Field label={w.create.autoCount} className="w-44">
        {(props) => (
          <Input
            {...props}
            type="number"
            min={1}
            value={count}
            onChange={(event) => setCount(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label={w.create.autoGpu}>
        {(props) => (
          <Select
            id={props.id}
            value={gpu}
            onChange={setGpu}
            options={[
              { value: ANY, label: w.create.anyGpu },
              ...models.map((model) => ({ value: model, label: model })),
            ]}
          />
        )}
      </Field>
      <Button type="submit">{w.create.autoPick}</Button>
      <p role="status" className="w-full text-xs text-muted empty:hidden">
        {said}
      </p>
    </form>
  );
}

/** Whoever joins while this is shown is chosen. */
function Join({ form, set, environments }: LaunchProps) {
  const { w } = useWords();
  const known = useRef<Set<string> | null>(null);
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    if (environments.length === 0 && known.current === null) return;
    if (known.current === null) {
      known.current = new Set(environments.map(({ id }) => id));
      return;
    }
    const before = known.current;
    const came = environments.filter(({ id, status }) => !before.has(id) && status === 'running');
    if (came.length === 0) return;
    for (const { id } of came) before.add(id);
    setNames((all) => [...all, ...came.map(({ name }) => name)]);
    set(withMaster([...new Set([...form.nodeIds, ...came.map(({ id }) => id)])], form.masterNode));
  });
  const command = `fermi agent --server ${window.location.origin} --name new-env --zone 北京可用区A --workers 2 --kind jupyter`;
  return (
    <div className="flex flex-col gap-2 rounded-md border border-line bg-sunken p-3">
      <p className="text-sm text-muted">{w.create.newHint}</p>
      <Command text={command} className="!bg-surface" />
      <p role="status" className="text-xs text-muted">
        {names.length > 0 ? w.create.newFound(names.join(', ')) : w.create.newWaiting}
      </p>
    </div>
  );
}
