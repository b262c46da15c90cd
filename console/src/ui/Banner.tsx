import { Children, type ReactNode } from 'react';
import { classes } from './classes';
import { InfoIcon, WarnIcon } from './icons';
import { prose } from './prose';

type BannerTone = 'info' | 'warn' | 'bad';
const TONES: Record<BannerTone, string> = {
  info: 'border-info/30 bg-info-soft text-info',
  warn: 'border-warn/30 bg-warn-soft text-warn',
  bad: 'border-bad/30 bg-bad-soft text-bad',
};

/** A notice that stays where it matters. */
export function Banner({ tone, children, className }: { tone: BannerTone; children: ReactNode; className?: string }) {
  return (
    <div
      role={tone === 'info' ? 'note' : 'status'}
      className={classes('flex items-start gap-2 rounded-md border px-3 py-2 text-sm', TONES[tone], className)}
    >
      {tone === 'info' ? <InfoIcon className="mt-0.5 shrink-0" /> : <WarnIcon className="mt-0.5 shrink-0" />}
      <div className="min-w-0 flex-1 [overflow-wrap:anywhere]">{Children.map(children, prose)}</div>
    </div>
  );
}
