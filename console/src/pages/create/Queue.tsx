import type { ReactNode } from 'react';
import { Field, Input } from '~/ui/Field';
import { Tick } from '~/ui/Tick';
import { useWords } from '~/words';
import type { PartProps } from './useCreate';

/** What the queue goes by: how long it may take, how urgent it is, and whether it gives way. */
export function Queue({ form, set }: Pick<PartProps, 'form' | 'set'>) {
  const { w } = useWords();
  return (
    <div className="grid items-start gap-4 border-t border-line pt-4 sm:grid-cols-3">
      <Amount
        label={w.create.timeLimit}
        hint={w.create.timeLimitHint}
        placeholder={w.create.noLimit}
        value={form.timeLimit}
        onChange={(timeLimit) => set({ timeLimit })}
      />
      <Amount
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

type AmountProps = {
  label: ReactNode;
  hint: string;
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
};

function Amount({ label, hint, placeholder, value, onChange }: AmountProps) {
  return (
    <Field label={label} hint={hint}>
      {(props) => (
        <Input
          {...props}
          type="number"
          step="any"
          className="w-full min-w-0"
          placeholder={placeholder}
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
