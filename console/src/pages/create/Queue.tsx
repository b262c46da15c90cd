import { NumberField } from '~/ui/NumberField';
import { Tick } from '~/ui/Tick';
import { useWords } from '~/words';
import type { PartProps } from './useCreate';

/** What the queue goes by: how long it may take, how urgent it is, and whether it gives way. */
export function Queue({ form, set }: Pick<PartProps, 'form' | 'set'>) {
  const { w } = useWords();
  return (
    <div className="grid items-start gap-4 border-t border-line pt-4 sm:grid-cols-3">
      <NumberField
        step="any"
        label={w.create.timeLimit}
        hint={w.create.timeLimitHint}
        placeholder={w.create.noLimit}
        value={form.timeLimit}
        onChange={(timeLimit) => set({ timeLimit })}
      />
      <NumberField
        step="any"
        label={w.create.priority}
        hint={w.create.priorityHint}
        placeholder="0"
        value={form.priority}
        onChange={(priority) => set({ priority })}
      />
      <div className="flex flex-col gap-1.5 sm:pt-8">
        <Tick
          label={<span className="font-medium">{w.create.preemptible}</span>}
          isTicked={form.preemptible}
          onChange={(preemptible) => set({ preemptible })}
        />
        <p className="text-xs text-muted">{w.create.preemptibleHint}</p>
      </div>
    </div>
  );
}
