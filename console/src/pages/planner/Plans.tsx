import { useQueries } from '@tanstack/react-query';
import { Problem } from '~/api/Loaded';
import { Card } from '~/ui/Card';
import { Empty } from '~/ui/Empty';
import { Pill, type Tone } from '~/ui/Pill';
import { Progress } from '~/ui/Progress';
import { SkeletonRows } from '~/ui/Skeleton';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';
import { CANDIDATES, type Plan, planQuery, type Ranked, ranked } from './plans';
import { Scaling } from './Scaling';

const TONES: Record<Plan['id'], Tone> = { fits: 'good', fitsTightly: 'warn', doesNotFit: 'bad' };

type PlansProps = { model: string; chosen: readonly string[]; gpuCounts: readonly number[]; command: string };

/** All strategies for a model on some environments, the best first. */
export function Plans({ model, chosen, gpuCounts, command }: PlansProps) {
  const { w, say } = useWords();
  const queries = useQueries({ queries: CANDIDATES.map((candidate) => planQuery(model, chosen, candidate)) });
  const failed = queries.find((query) => query.error);
  const found = queries.flatMap((query, index): Ranked[] => {
    const candidate = CANDIDATES[index];
    return query.data && candidate ? [{ candidate, plan: query.data }] : [];
  });
  if (queries.some((query) => query.isPending)) {
    return (
      <Card>
        <SkeletonRows count={6} />
      </Card>
    );
  }
  if (found.length === 0) {
    return (
      <Card>
        {failed ? (
          <Problem error={failed.error} onRetry={() => void failed.refetch()} />
        ) : (
          <Empty title={w.planner.unknownModel} hint={w.planner.unknownModelHint} command={command} />
        )}
      </Card>
    );
  }
  const order = ranked(found);
  const best = order[0]?.plan;
  return (
    <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_320px]">
      <Card title={w.planner.strategies} note={w.planner.strategiesNote}>
        <Strategies rows={order} />
      </Card>
      <div className="flex flex-col gap-4">
        {best ? (
          <Card title={w.planner.advice} bodyClass="flex flex-col gap-2 p-4">
            <p className="text-lg font-semibold">{best.fits ? best.name : (best.suggestion?.name ?? best.name)}</p>
            <p className="text-sm">{say(best.sentence)}</p>
            {best.suggestion ? <p className="text-sm text-muted">{say(best.suggestion.reason)}</p> : null}
          </Card>
        ) : null}
        <Scaling model={model} chosen={chosen} gpuCounts={gpuCounts} />
      </div>
    </div>
  );
}

function Strategies({ rows }: { rows: readonly Ranked[] }) {
  const { w, number, value } = useWords();
  const words: Record<Plan['id'], string> = {
    fits: w.planner.fits,
    fitsTightly: w.planner.tight,
    doesNotFit: w.planner.fitsNot,
  };
  const columns: Column<Ranked>[] = [
    {
      key: 'strategy',
      head: w.planner.strategy,
      className: 'sm:whitespace-nowrap',
      cell: ({ plan, candidate }) => (
        <div className="py-2">
          <p className="font-medium">{plan.name}</p>
          <p className="font-mono text-2xs text-faint">{candidate.framework}</p>
          <div className="mt-1 sm:hidden">
            <Pill tone={TONES[plan.id]}>{words[plan.id]}</Pill>
          </div>
        </div>
      ),
    },
    {
      key: 'fits',
      head: '',
      className: 'hidden sm:table-cell',
      cell: ({ plan }) => <Pill tone={TONES[plan.id]}>{words[plan.id]}</Pill>,
    },
    {
      key: 'memory',
      head: w.planner.memory,
      className: 'min-w-28 sm:min-w-36',
      cell: ({ plan }) => (
        <div>
          <p className="pb-1 text-xs text-muted">
            {w.planner.memoryOf(plan.memoryGib.toFixed(1), plan.gpuMemoryGib.toFixed(0))}
            {plan.fits ? '' : ` · ${w.planner.missing(plan.missingGib.toFixed(1))}`}
          </p>
          <Progress
            share={plan.memoryGib / plan.gpuMemoryGib}
            label={`${plan.name} ${w.planner.memory}`}
            tone={TONES[plan.id]}
          />
        </div>
      ),
    },
    {
      key: 'micro',
      head: w.planner.microBatch,
      align: 'right',
      className: 'hidden sm:table-cell',
      cell: ({ plan }) => number(plan.microBatch),
    },
    {
      key: 'step',
      head: w.planner.step,
      align: 'right',
      className: 'hidden whitespace-nowrap sm:table-cell',
      cell: ({ plan }) => (plan.stepTimeS == null ? '–' : w.planner.seconds(value(plan.stepTimeS))),
    },
    {
      key: 'speed',
      head: w.planner.throughput,
      align: 'right',
      cell: ({ plan }) => (plan.tokensPerS == null ? '–' : number(Math.round(plan.tokensPerS))),
    },
  ];
  return <Table label={w.planner.strategies} columns={columns} rows={rows} rowKey={(row) => row.candidate.key} />;
}
