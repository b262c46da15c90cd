import { useEffect, useRef, useState } from 'react';
import { JoinCommand } from '~/api/JoinCommand';
import type { Environment } from '~/api/types';
import { classes } from '~/ui/classes';
import { useWords } from '~/words';
import { Auto } from './Auto';
import type { Mode } from './modes';
import { withMaster } from './selection';
import type { PartProps } from './useCreate';

const NEW = { name: 'new-env', workers: '2', kind: 'jupyter' } as const;

type LaunchProps = PartProps & { environments: readonly Environment[]; modes: readonly Mode[] };

/** The three ways to come by environments: chosen below, picked by the server, or joined now and then chosen. */
export function Launch(props: LaunchProps) {
  const { w } = useWords();
  const { mode } = props.form;
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
              className="mt-1 size-3.5 shrink-0 appearance-none rounded-full border border-line-strong bg-surface outline-none checked:border-4 checked:border-accent"
              checked={one === mode}
              onChange={() => props.set({ mode: one })}
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
  return (
    <div className="flex flex-col gap-2 rounded-md border border-line bg-sunken p-3">
      <p className="text-sm text-muted">{w.create.newHint}</p>
      <JoinCommand joining={NEW} className="!bg-surface" />
      <p role="status" className="text-xs text-muted">
        {names.length > 0 ? w.create.newFound(names.join(', ')) : w.create.newWaiting}
      </p>
    </div>
  );
}
