import { type ReactNode, useId } from 'react';
import { Checkbox } from './Checkbox';

type TickProps = { label: ReactNode; isTicked: boolean; onChange: (isTicked: boolean) => void };

/** Yes or no, beside its label. */
export function Tick({ label, isTicked, onChange }: TickProps) {
  const id = useId();
  return (
    <label id={id} className="flex cursor-pointer items-center gap-2 text-sm">
      <Checkbox aria-labelledby={id} checked={isTicked} onChange={onChange} />
      {label}
    </label>
  );
}
