import type { ReactNode } from 'react';
import { classes } from './classes';
import { prose } from './prose';

type CardProps = {
  title?: ReactNode;
  note?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
  bodyClass?: string;
};

/** A surface with an optional head line. */
export function Card({ title, note, actions, children, className, bodyClass }: CardProps) {
  const isEmpty = children == null || children === false;
  return (
    <section className={classes('flex min-w-0 flex-col rounded-lg border border-line bg-surface', className)}>
      {title || actions ? (
        <header
          className={classes(
            'flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2 sm:flex-nowrap',
            isEmpty ? '' : 'border-b border-line',
          )}
        >
          <h2
            className={classes(
              'text-sm font-semibold [overflow-wrap:anywhere]',
              note !== undefined && 'max-w-2/3 shrink-0',
            )}
          >
            {title}
          </h2>
          {note ? (
            <span className="order-last w-full min-w-0 text-xs text-muted sm:order-none sm:line-clamp-2 sm:w-auto">
              {prose(note)}
            </span>
          ) : null}
          <div className="ml-auto flex shrink-0 items-center gap-2">{actions}</div>
        </header>
      ) : null}
      {isEmpty ? null : <div className={classes('min-w-0 flex-1', bodyClass)}>{children}</div>}
    </section>
  );
}

/** A number that matters, with what it means. */
export function Stat({
  label,
  value,
  note,
  children,
}: {
  label: ReactNode;
  value: ReactNode;
  note?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <div className="flex min-w-0 flex-col rounded-lg border border-line bg-surface px-4 py-3">
      <span className="text-xs text-muted">{label}</span>
      <span className="mt-1 truncate text-2xl font-semibold tracking-tight">{value}</span>
      {note ? <span className="mt-0.5 line-clamp-2 text-xs text-muted">{note}</span> : null}
      {children}
    </div>
  );
}
