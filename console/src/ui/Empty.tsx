import type { ReactNode } from 'react';
import { Command } from './Copy';
import { prose } from './prose';

type EmptyProps = {
  title: string;
  hint?: ReactNode;
  /** A command that makes the first one. */
  command?: string | ReactNode;
  action?: ReactNode;
  icon?: ReactNode;
};

/** Nothing yet, and how to change that. */
export function Empty({ title, hint, command, action, icon }: EmptyProps) {
  return (
    <div className="flex flex-col items-center gap-3 px-6 py-10 text-center">
      {icon ? (
        <span className="flex size-10 items-center justify-center rounded-full bg-sunken text-faint">{icon}</span>
      ) : null}
      <div className="max-w-110">
        <p className="font-medium">{title}</p>
        {hint ? <p className="mt-1 text-sm text-muted">{prose(hint)}</p> : null}
      </div>
      {command ? (
        <div className="w-full max-w-140">{typeof command === 'string' ? <Command text={command} /> : command}</div>
      ) : null}
      {action}
    </div>
  );
}
