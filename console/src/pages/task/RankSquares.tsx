import { useMemo, useState } from 'react';
import type { Rank, Task } from '~/api/types';
import { RankGrid, type RankSquare } from '~/charts/RankGrid';
import { useWords } from '~/words';
import { exitWords, rankTone } from './facts';
import type { AboutRank } from './useRanks';

type RankSquaresProps = {
  rows: readonly Rank[];
  about: AboutRank;
  task: Task;
  onPick: (rank: number) => void;
};

/** The squares of all ranks, and more of the one under the pointer. */
export function RankSquares({ rows, about, task, onPick }: RankSquaresProps) {
  const { w, say, number, value } = useWords();
  const [hovered, setHovered] = useState<number | null>(null);
  const first = task.verdict?.first?.rank ?? null;
  const squares = useMemo(
    () => rows.map((row): RankSquare => ({ rank: row.rank, node: row.node, tone: rankTone(row, first) })),
    [rows, first],
  );
  const byRank = useMemo(() => new Map(rows.map((row) => [row.rank, row])), [rows]);
  const stateOf = (row: Rank) => {
    const tone = rankTone(row, first);
    return [tone === row.state ? say(row.stateText) : w.task[tone], exitWords(row.exitText, w.task.exitCode)];
  };
  const labelOf = (rank: number) => {
    const row = byRank.get(rank);
    return [`rank ${rank}`, ...(row ? stateOf(row) : [])].filter(Boolean).join(' · ');
  };
  const row = hovered === null ? undefined : byRank.get(hovered);
  const more = row && about(row);
  const facts = row
    ? [
        `rank ${row.rank}`,
        ...stateOf(row),
        row.pid == null ? null : `pid ${row.pid}`,
        row.step == null ? null : w.task.stepOnly(number(row.step)),
        more?.stepTime == null ? null : w.task.seconds(value(more.stepTime)),
      ].filter(Boolean)
    : [];
  return (
    <div className="flex flex-col gap-3">
      <RankGrid label={w.task.rankMap} squares={squares} labelOf={labelOf} onPick={onPick} onHover={setHovered} />
      <p className="flex h-5 min-w-0 gap-3 text-xs text-muted">
        {row ? (
          <>
            <span className="shrink-0 text-text">{facts.join(' · ')}</span>
            <span className="min-w-0 truncate font-mono">{more?.lastLine}</span>
          </>
        ) : (
          <Counts squares={squares} />
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
  stopped: 'bg-line-strong',
  waiting: 'bg-track',
} as const;

function Counts({ squares }: { squares: readonly RankSquare[] }) {
  const { w, number } = useWords();
  const counts = new Map<string, number>();
  for (const { tone } of squares) counts.set(tone, (counts.get(tone) ?? 0) + 1);
  return (['running', 'succeeded', 'failed', 'victim', 'stopped', 'waiting'] as const).map((tone) => {
    const count = counts.get(tone) ?? 0;
    return count === 0 ? null : (
      <span key={tone} className="flex items-center gap-1.5">
        <span aria-hidden="true" className={`size-2 rounded-xs ${DOTS[tone]}`} />
        {w.task[tone]} {number(count)}
      </span>
    );
  });
}
