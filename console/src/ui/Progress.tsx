import { classes } from './classes';
import type { Tone } from './Pill';

const FILLS: Record<Tone, string> = {
  good: 'bg-good-fill',
  warn: 'bg-warn-fill',
  bad: 'bg-bad-fill',
  info: 'bg-accent',
  accent: 'bg-accent',
  idle: 'bg-idle-fill',
};

/** How much of something is done or used; `share` is 0 to 1. */
export function Progress({
  share,
  label,
  tone = 'accent',
  className,
}: {
  share: number;
  label: string;
  tone?: Tone;
  className?: string;
}) {
  const percent = Math.round(Math.min(Math.max(share, 0), 1) * 1000) / 10;
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(percent)}
      className={classes('h-1.5 overflow-hidden rounded-full bg-track', className ?? 'w-full')}
    >
      <div
        className={classes('h-full rounded-full transition-[width] duration-500', FILLS[tone])}
        style={{ width: `${percent}%` }}
      />
    </div>
  );
}
