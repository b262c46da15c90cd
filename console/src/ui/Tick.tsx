import { type ReactNode, useId } from 'react';

type TickProps = { label: ReactNode; isTicked: boolean; onChange: (isTicked: boolean) => void };

/** Yes or no, beside its label. */
export function Tick({ label, isTicked, onChange }: TickProps) {
  const id = useId();
  return (
    <label htmlFor={id} className="flex cursor-pointer items-center gap-2 text-sm">
      <input
        id={id}
        type="checkbox"
        className="size-4 accent-(--accent)"
        checked={isTicked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      {label}
    </label>
  );
}
