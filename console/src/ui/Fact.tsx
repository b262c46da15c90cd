import type { ReactNode } from 'react';

type FactProps = { icon: ReactNode; label: string; children: ReactNode };

/** A row of a `dl` whose icon says what its label does. A text that is cut off can be read by pointing at it. */
export function Fact({ icon, label, children }: FactProps) {
  return (
    <div className="flex min-w-0 items-center gap-1.5">
      <dt className="shrink-0 text-faint [&>svg]:size-3.5">
        <span className="sr-only">{label}</span>
        {icon}
      </dt>
      <dd className="min-w-0 truncate" title={typeof children === 'string' ? children : undefined}>
        {children}
      </dd>
    </div>
  );
}
