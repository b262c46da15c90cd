import { useDeferredValue } from 'react';
import { Loaded } from '~/api/Loaded';
import type { Rank, Task } from '~/api/types';
import { Card } from '~/ui/Card';
import { Empty } from '~/ui/Empty';
import { Pill, type Tone } from '~/ui/Pill';
import { SkeletonRows } from '~/ui/Skeleton';
import { VirtualRows } from '~/ui/VirtualRows';
import { useWords } from '~/words';
import { exitWords, type RankTone, rankTone } from '../../facts';
import type { TabProps } from '../../Page';
import { RankSquares } from '../../RankSquares';
import { type About, useRanks } from '../../useRanks';

const TONES: Record<RankTone, Tone> = {
  waiting: 'idle',
  running: 'good',
  succeeded: 'accent',
  failed: 'bad',
  victim: 'idle',
  stopped: 'idle',
};
const COLUMNS =
  'grid grid-cols-[56px_minmax(120px,180px)_84px_72px_72px_84px_72px_84px_minmax(160px,1fr)] gap-3 px-4 min-w-240';

const NONE: Rank[] = [];

/** Every rank: where it is, how it fares, what it said last. A click shows its logs. */
export function Ranks({ task, onSearch }: TabProps) {
  const { w } = useWords();
  const { query, rows, about } = useRanks(task);
  // The squares of thousands are painted before the rows, whose places are kept.
  const shown = useDeferredValue(rows, NONE);
  const pick = (rank: number) => onSearch({ tab: 'logs', ranks: String(rank), line: undefined });
  return (
    <Loaded
      query={query}
      loading={<SkeletonRows count={6} />}
      isEmpty={() => rows.length === 0}
      empty={
        <Card>
          <Empty title={w.task.noRanks} hint={w.task.noRanksHint} />
        </Card>
      }
    >
      {() => (
        <div className="flex flex-col gap-4">
          <Card title={w.task.rankMap} note={w.task.rankMapHint} bodyClass="p-4">
            <RankSquares rows={rows} about={about} task={task} onPick={pick} />
          </Card>
          <Card className="overflow-hidden">
            <VirtualRows
              label={w.task.ranks}
              count={rows.length}
              rowHeight={40}
              className="max-h-[60vh]"
              head={<Head />}
              row={(index) => {
                const row = shown[index];
                return row ? <Row row={row} task={task} about={about(row)} onPick={pick} /> : null;
              }}
            />
          </Card>
        </div>
      )}
    </Loaded>
  );
}

function Head() {
  const { w } = useWords();
  const heads = [
    w.task.rank,
    w.task.node,
    w.task.state,
    w.task.pid,
    w.task.stepHead,
    w.task.stepTime,
    w.task.cpu,
    w.task.memory,
    w.task.lastLine,
  ];
  return (
    <div
      role="row"
      className={`${COLUMNS} h-9 items-center border-b border-line bg-surface text-xs font-medium text-muted`}
    >
      {heads.map((head, at) => (
        <span key={head} role="columnheader" className={at < 3 ? undefined : at <= 7 ? 'text-right' : 'pl-3'}>
          {head}
        </span>
      ))}
    </div>
  );
}

type RowProps = { row: Rank; task: Task; about: About; onPick: (rank: number) => void };

function Row({ row, task, about, onPick }: RowProps) {
  const { w, say, number, value, bytes } = useWords();
  const right = 'text-right text-xs';
  const tone = rankTone(row, task.verdict?.first?.rank ?? null);
  return (
    <div role="row" className={`${COLUMNS} relative h-10 items-center border-b border-line text-sm hover:bg-hover`}>
      <span role="cell">
        <button
          type="button"
          title={w.task.openLogs}
          onClick={() => onPick(row.rank)}
          className="font-mono text-accent after:absolute after:inset-0"
        >
          {row.rank}
        </button>
      </span>
      <span role="cell" className="truncate" title={`${row.node} · ${row.worker}`}>
        {row.node}
      </span>
      <span role="cell">
        <Pill tone={TONES[tone]} title={exitWords(row.exitText, w.task.exitCode) || undefined}>
          {tone === row.state ? say(row.stateText) : w.task[tone]}
        </Pill>
      </span>
      <span role="cell" className={`${right} font-mono`}>
        {row.pid ?? '–'}
      </span>
      <span role="cell" className={right}>
        {row.step == null ? '–' : number(row.step)}
      </span>
      <span role="cell" className={right}>
        {about.stepTime === null ? '–' : w.task.seconds(value(about.stepTime))}
      </span>
      <span role="cell" className={right}>
        {row.cpus == null ? '–' : w.task.cores(row.cpus.toFixed(2))}
      </span>
      <span role="cell" className={right}>
        {row.memory == null ? '–' : bytes(row.memory)}
      </span>
      <span role="cell" className="truncate pl-3 font-mono text-xs text-muted" title={about.lastLine}>
        {about.lastLine || exitWords(row.exitText, w.task.exitCode)}
      </span>
    </div>
  );
}
