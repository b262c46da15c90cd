import type { ReactNode } from 'react';

/** The head of a page: its only `h1`, which is focused when the page opens. */
export function PageHeader({
  title,
  note,
  actions,
  children,
}: {
  title: ReactNode;
  note?: ReactNode;
  actions?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <header className="mb-4 flex min-h-8 flex-wrap items-center gap-x-3 gap-y-2">
      <h1 tabIndex={-1} className="min-w-0 truncate text-xl font-semibold tracking-tight">
        {title}
      </h1>
      {note ? <span className="max-sm:order-last max-sm:w-full text-sm text-muted">{note}</span> : null}
      {children}
      <div className="ml-auto flex flex-wrap items-center gap-2">{actions}</div>
    </header>
  );
}
