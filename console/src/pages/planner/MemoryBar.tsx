import type { PlannedLayout } from '~/api/types';
import { classes } from '~/ui/classes';
import { seriesClass } from '~/ui/series';
import { useWords } from '~/words';
import { partsOf, TERMS } from './plans';

type MemoryBarProps = {
  layout: PlannedLayout;
  cardGib: number;
  /** With a legend of what the colours mean. */
  isExplained?: boolean;
};

/** What one GPU needs, part by part, against what it has. */
export function MemoryBar({ layout, cardGib, isExplained = false }: MemoryBarProps) {
  const { w } = useWords();
  const parts = partsOf(layout.memory, cardGib);
  const told = parts.map(({ term, gib }) => w.planner.term(w.planner.terms[term], gib.toFixed(1)));
  const isOver = layout.missingGib > 0;
  return (
    <div className="min-w-0">
      <p className="flex flex-wrap justify-between gap-x-2 pb-1 text-xs text-muted">
        {isExplained ? <span>{w.planner.memory}</span> : null}
        <span>{w.planner.memoryOf(layout.memoryGib.toFixed(1), cardGib.toFixed(0))}</span>
        {isOver ? <span className="text-bad">{w.planner.missing(layout.missingGib.toFixed(1))}</span> : null}
      </p>
      <div
        role="img"
        aria-label={`${layout.name} ${w.planner.memory}: ${told.join(', ')}`}
        title={told.join('\n')}
        className="relative flex h-2 overflow-hidden rounded-xs bg-track"
      >
        {parts.map(({ term, share }) => (
          <span key={term} className={seriesClass(TERMS.indexOf(term))} style={{ width: `${share * 100}%` }} />
        ))}
        {isOver ? (
          <span
            className="absolute inset-y-0 right-0 border-l-2 border-text bg-bad-fill/40"
            style={{ left: `${(cardGib / layout.memoryGib) * 100}%` }}
          />
        ) : null}
      </div>
      {isExplained ? (
        <ul className="mt-2 flex flex-wrap gap-x-3 gap-y-1 text-xs">
          {parts.map(({ term, gib }) => (
            <li key={term} className="flex items-center gap-1.5">
              <span aria-hidden="true" className={classes('size-2 rounded-xs', seriesClass(TERMS.indexOf(term)))} />
              {w.planner.terms[term]}
              <span className="text-muted">{gib.toFixed(1)}</span>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
