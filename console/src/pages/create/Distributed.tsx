import type { Environment } from '~/api/types';
import { GlobeIcon, WarnIcon } from '~/ui/icons';
import { SelectField } from '~/ui/SelectField';
import { useWords } from '~/words';
import { FrameworkSelect } from './FrameworkSelect';
import { anchor } from './refusal';
import { type PartProps, refusedAt } from './useCreate';

/** From two nodes on: who is the master, and what joins them. */
export function Distributed({ form, set, refused, chosen }: PartProps & { chosen: readonly Environment[] }) {
  const { w } = useWords();
  return (
    <section
      aria-labelledby="create-panel"
      className="flex flex-col gap-3 rounded-lg border border-warn/30 bg-warn-soft p-4"
    >
      <h3 id="create-panel" className="flex items-center gap-2 text-sm font-semibold text-warn">
        <GlobeIcon />
        {w.create.panel}
      </h3>
      <div className="grid items-start gap-4 sm:grid-cols-2">
        <div id={anchor('master')}>
          <SelectField
            label={w.create.master}
            error={refusedAt(refused, 'master')}
            value={form.masterNode}
            onChange={(masterNode) => set({ masterNode })}
            options={chosen.map((environment) => ({ value: environment.id, label: environment.name }))}
          />
        </div>
        <FrameworkSelect form={form} set={set} refused={refused} />
      </div>
      <p role="note" className="flex items-start gap-2 text-sm text-warn">
        <WarnIcon className="mt-0.5 shrink-0" />
        {w.create.network}
      </p>
    </section>
  );
}
