import { useQuery } from '@tanstack/react-query';
import { commandLine } from '~/api/argv';
import { Loaded } from '~/api/Loaded';
import { startQuery } from '~/api/queries';
import type { RankStart } from '~/api/types';
import { Card } from '~/ui/Card';
import { Copy } from '~/ui/Copy';
import { Input } from '~/ui/Field';
import { Select } from '~/ui/Select';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import type { TabProps } from '../../Page';
import { Variables } from './Variables';
import { wholeCommand } from './variableRows';

/** What a rank was really started with in an attempt, also when its machine is long gone. */
export function Started({ task, search, onSearch }: TabProps) {
  const { w, number } = useWords();
  const rank = search.rank ?? 0;
  const start = useQuery(startQuery(task, rank, search.attempt));
  const { data: zero } = useQuery(startQuery(task, 0, search.attempt));
  // While another attempt is on its way the two may be of different ones.
  const besides = (one: RankStart) => (zero && one.rank !== 0 && one.attempt === zero.attempt ? zero : null);
  const attempts = start.data?.attempts ?? task.attempts.map((attempt) => attempt.number);
  const world = Math.max(task.worldSize, task.rankMap.length, rank + 1);
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-2 text-sm">
        <label htmlFor="launch-rank" className="text-muted">
          {w.task.rank}
        </label>
        <Input
          id="launch-rank"
          type="number"
          min={0}
          max={world - 1}
          value={rank}
          onChange={(event) =>
            onSearch({ rank: Math.min(Number(event.currentTarget.value) || 0, world - 1) || undefined })
          }
          className="w-24"
        />
        {attempts.length > 1 ? (
          <Select
            aria-label={w.logs.attempt}
            value={String(search.attempt ?? start.data?.attempt ?? attempts[attempts.length - 1] ?? 0)}
            options={attempts.map((attempt) => ({ value: String(attempt), label: w.logs.attemptOf(number(attempt)) }))}
            onChange={(attempt) =>
              onSearch({ attempt: Number(attempt) === attempts[attempts.length - 1] ? undefined : Number(attempt) })
            }
          />
        ) : null}
      </div>
      <Loaded query={start} loading={<SkeletonRows count={3} className="h-24" />}>
        {(data) => <Shown start={data} zero={besides(data)} />}
      </Loaded>
    </div>
  );
}

function Shown({ start, zero }: { start: RankStart; zero: RankStart | null }) {
  const { w, date } = useWords();
  const line = commandLine(start.argv);
  const facts: [string, string | null | undefined][] = [
    [w.task.directory, start.directory],
    [w.task.node, start.node],
    [w.task.pid, String(start.pid)],
    [w.task.startedAt, date(start.startedAt)],
    [w.task.release, start.fermi],
    [w.task.account, start.account],
    [w.task.cpus, start.cpus.join(', ')],
    [w.task.beginning, start.isReleased ? w.task.beganParked : null],
  ];
  return (
    <>
      <Card
        title={w.task.argvOf(String(start.rank))}
        note={zero && commandLine(zero.argv) !== line ? w.task.argvDiffers : undefined}
        actions={
          <>
            <Copy text={line} />
            <Copy text={wholeCommand(start)} label={w.task.copyWhole} />
          </>
        }
        bodyClass="px-4 py-3"
      >
        <code className="font-mono text-xs break-all whitespace-pre-wrap">{line}</code>
        {start.isCut ? <p className="mt-2 text-xs text-warn">{w.task.startCut}</p> : null}
        <dl className="mt-3 flex flex-wrap gap-x-6 gap-y-1 text-xs">
          {facts.map(([label, value]) =>
            value ? (
              <div key={label} className="flex min-w-0 gap-2">
                <dt className="shrink-0 text-muted">{label}</dt>
                <dd className="min-w-0 font-mono break-all">{value}</dd>
              </div>
            ) : null,
          )}
        </dl>
      </Card>
      <Variables start={start} zero={zero} />
    </>
  );
}
