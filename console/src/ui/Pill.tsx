import type { ReactNode } from 'react';
import { classes } from './classes';

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'accent' | 'idle';

const TONES: Record<Tone, string> = {
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  info: 'bg-info-soft text-info',
  // What is chosen has the same ground: the rim sets it off there.
  accent: 'bg-accent-soft text-accent inset-ring inset-ring-accent/25',
  idle: 'bg-track text-muted',
};

/** A state in a word, which begins with a capital letter wherever it comes from. `isMoving` lets its dot breathe: something is under way. */
export function Pill({
  tone,
  children,
  isMoving,
  title,
}: {
  tone: Tone;
  children: ReactNode;
  isMoving?: boolean;
  title?: string | undefined;
}) {
  return (
    <span
      title={title}
      className={classes(
        'inline-flex h-5 shrink-0 items-center gap-1.5 rounded-full px-2 text-xs font-medium whitespace-nowrap',
        TONES[tone],
      )}
    >
      <span aria-hidden="true" className={classes('size-1.5 rounded-full bg-current', isMoving && 'animate-pulse')} />
      <span className="inline-block first-letter:uppercase">{children}</span>
    </span>
  );
}

/** A kind or a fact, without judgement. */
export function Badge({ children, title }: { children: ReactNode; title?: string }) {
  return (
    <span
      title={title}
      className="inline-flex h-5 max-w-full shrink-0 items-center rounded border border-line px-1.5 text-2xs whitespace-nowrap text-muted"
    >
      {children}
    </span>
  );
}
