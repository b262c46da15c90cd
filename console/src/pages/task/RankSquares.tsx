import { useMemo, useState } from 'react';
import { RankGrid, type RankSquare } from '~/charts/RankGrid';
import { useWords } from '~/words';
import type { RankRow } from './useRanks';

type RankSquaresProps = {
  rows: readonly RankRow[];
  /** The rank that failed first; those that failed after it are its victims. */
  first: number | null;
  onPick: (rank: number) => void;
};

const stateOf = (row: RankRow, first: number | null) =>
  row.state === 'failed' && first !== null && row.rank !== first ? 'victim' : row.state;

/** The squares of all ranks, and more of the one under the pointer. */
export function RankSquares({ rows, first, onPick }: RankSquaresProps) {
  const { w, say, number, value } = useWords();
  const [hovered, setHovered] = useState<number | null>(null);
  const squares = useMemo(
    () =>
      rows.map(
        (row): RankSquare => ({
          rank: row.rank,
          node: row.node,
          tone: stateOf(row, first),
          label: `rank ${row.rank} · ${say(row.stateText)}${row.exitText ? ` · ${row.exitText}` : ''}`,
        }),
      ),
    [rows, first, say],
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
          <Counts rows={rows} first={first} />
        )}
      </p>
    </div>
  );
}

const DOTS = {
  running: 'bg-good-fill',
  succeeded: 'bg-accent',
  failed: 'bg-bad-fill',
  victim: 'bg-bad-soft border border-bad-fill/60',
  waiting: 'bg-track',
} as const;

function Counts({ rows, first }: Omit<RankSquaresProps, 'onPick'>) {
  const { w, number } = useWords();
  return (['running', 'succeeded', 'failed', 'victim', 'waiting'] as const).map((state) => {
    const count = rows.filter((row) => stateOf(row, first) === state).length;
    return count === 0 ? null : (
      <span key={state} className="flex items-center gap-1.5">
        <span aria-hidden="true" className={`size-2 rounded-xs ${DOTS[state]}`} />
        {w.task[state]} {number(count)}
      </span>
    );
  });
}
