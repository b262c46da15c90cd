import { useMemo, useState } from 'react';
import { RankGrid, type RankSquare } from '~/charts/RankGrid';
import { useWords } from '~/words';
import type { RankRow } from './useRanks';

/** The squares of all ranks, and more of the one under the pointer. */
export function RankSquares({ rows, onPick }: { rows: readonly RankRow[]; onPick: (rank: number) => void }) {
  const { w, say, number, value } = useWords();
  const [hovered, setHovered] = useState<number | null>(null);
  const squares = useMemo(
    () =>
      rows.map(
        (row): RankSquare => ({
          rank: row.rank,
          node: row.node,
          tone: row.state,
          label: `rank ${row.rank} · ${say(row.stateText)}${row.exitText ? ` · ${row.exitText}` : ''}`,
        }),
      ),
    [rows, say],
  );
  const row = hovered === null ? undefined : rows.find((one) => one.rank === hovered);
  const facts = row
    ? [
        `rank ${row.rank}`,
        say(row.stateText),
        row.exitText,
        row.pid == null ? null : `pid ${row.pid}`,
        row.step == null ? null : w.task.stepOnly(number(row.step)),
        row.stepTime === null ? null : w.task.seconds(value(row.stepTime)),
      ].filter(Boolean)
    : [];
  return (
    <div className="flex flex-col gap-3">
      <RankGrid label={w.task.rankMap} squares={squares} onPick={onPick} onHover={setHovered} />
      <p className="flex h-5 min-w-0 gap-3 text-xs text-muted">
        {row ? (
          <>
            <span className="shrink-0 text-text">{facts.join(' · ')}</span>
            <span className="min-w-0 truncate font-mono">{row.lastLine}</span>
          </>
        ) : (
          <Counts rows={rows} />
        )}
      </p>
    </div>
  );
}

const DOTS = {
  running: 'bg-good-fill',
  succeeded: 'bg-accent',
  failed: 'bg-bad-fill',
  waiting: 'bg-track',
} as const;

function Counts({ rows }: { rows: readonly RankRow[] }) {
  const { w, number } = useWords();
  return (['running', 'succeeded', 'failed', 'waiting'] as const).map((state) => {
    const count = rows.filter((row) => row.state === state).length;
    return count === 0 ? null : (
      <span key={state} className="flex items-center gap-1.5">
        <span aria-hidden="true" className={`size-2 rounded-xs ${DOTS[state]}`} />
        {w.task[state]} {number(count)}
      </span>
    );
  });
}
