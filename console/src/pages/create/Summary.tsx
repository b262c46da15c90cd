import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { gpuText } from '~/api/environments';
import { ApiError } from '~/api/error';
import type { Aggregate, Environment, Preview } from '~/api/types';
import { useFrameworkName } from '~/api/useFrameworkName';
import { Banner } from '~/ui/Banner';
import { Card } from '~/ui/Card';
import { CheckIcon, GlobeIcon } from '~/ui/icons';
import { Badge } from '~/ui/Pill';
import { prose } from '~/ui/prose';
import { useWords } from '~/words';
import { AutoTotals } from './AutoTotals';
import type { Form } from './form';
import { Placement } from './Placement';
import { PlanWord } from './PlanWord';
import { RankMap } from './RankMap';

type SummaryProps = {
  form: Form;
  chosen: readonly Environment[];
  summary: Aggregate | null;
  preview: UseQueryResult<Preview>;
  submit: ReactNode;
};

/** What is said elsewhere on the page. */
const SAID = new Set(['several_nodes', 'cross_zone', 'does_not_fit']);

/** 配置摘要: what is chosen, what it comes to, and what the server says of it. */
export function Summary({ form, chosen, summary, preview, submit }: SummaryProps) {
  const { w } = useWords();
  return (
    <Card
      title={w.create.summary}
      className="lg:sticky lg:top-[72px] lg:max-h-[calc(100dvh-137px)]"
      bodyClass="flex min-h-0 flex-col"
    >
      <div className="flex min-h-0 flex-1 flex-col gap-4 overflow-y-auto p-4">
        {form.mode === 'auto' ? (
          <>
            <AutoTotals form={form} />
            <Notes zones={0} preview={preview} />
            <Word form={form} preview={preview} />
          </>
        ) : summary ? (
          <>
            <Totals
              summary={summary}
              framework={form.framework}
              isFree={chosen.every(({ status }) => status === 'running')}
            />
            <Notes zones={summary.zones.length} preview={preview} />
            <Chosen chosen={chosen} master={form.nodeIds.length > 1 ? form.masterNode : null} />
            <Word form={form} preview={preview} />
          </>
        ) : (
          <p className="py-6 text-center text-sm text-muted">{w.create.nothing}</p>
        )}
      </div>
      <div className="hidden border-t border-line p-4 lg:block">{submit}</div>
    </Card>
  );
}

/** What the server says of it: when it would start, who would be which rank, whether it fits. */
function Word({ form, preview }: Pick<SummaryProps, 'form' | 'preview'>) {
  const { w } = useWords();
  const { data, isPlaceholderData: isOld, error } = preview;
  if (!data || error) return null;
  return (
    <>
      <Placement preview={data} isOld={isOld} />
      {data.rankMap.length > 0 ? <RankMap slots={data.rankMap} isOld={isOld} /> : null}
      {form.modelId && data.plan ? (
        <section aria-label={w.create.planner} className="border-t border-line pt-4">
          <PlanWord plan={data.plan} />
        </section>
      ) : null}
    </>
  );
}

function Totals({ summary, framework, isFree }: { summary: Aggregate; framework: string; isFree: boolean }) {
  const { w, number } = useWords();
  const name = useFrameworkName(framework);
  const gpus =
    summary.totalGpus > 0
      ? [w.create.gpus, `${w.create.countOf(number(summary.totalGpus))} (${summary.gpuTypes.join(', ')})`]
      : [w.create.workers, w.create.countOf(number(summary.totalWorkers))];
  const lines = [
    summary.isDistributed ? [w.create.nodes, w.create.countOf(number(summary.nodeCount))] : null,
    gpus,
    [w.create.cpus, w.create.cores(number(summary.totalCpus))],
    [w.create.memory, w.create.gigabytes(number(summary.totalMemory))],
    summary.zones.length > 1 ? [w.create.zones, w.create.countOf(number(summary.zones.length))] : null,
  ].filter((line) => line !== null);
  return (
    <div className="flex flex-col gap-3">
      <p className="flex items-center gap-2 font-semibold">
        {summary.isDistributed ? <GlobeIcon className="text-accent" /> : <CheckIcon className="text-good" />}
        {summary.isDistributed ? w.create.distributed : w.create.single}
      </p>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5 text-sm">
        {lines.map(([label, value]) => (
          <div key={label} className="contents">
            <dt className="text-muted">{label}</dt>
            <dd className="text-right font-medium">{value}</dd>
          </div>
        ))}
      </dl>
      {summary.isDistributed || isFree ? (
        <p
          className={
            summary.isDistributed
              ? 'rounded-md bg-accent-soft px-3 py-2 text-sm text-accent'
              : 'rounded-md bg-good-soft px-3 py-2 text-sm text-good'
          }
        >
          {summary.isDistributed ? w.create.uses(name) : w.create.quickStart}
        </p>
      ) : null}
    </div>
  );
}

/** What the server warns of, or why it would refuse. */
function Notes({ zones: zoneCount, preview }: { zones: number; preview: UseQueryResult<Preview> }) {
  const { w, say, tell, advise } = useWords();
  const refusal = preview.error instanceof ApiError ? preview.error : null;
  const warnings = refusal ? [] : (preview.data?.warnings ?? []).filter(({ id }) => !SAID.has(id));
  const zones = preview.data?.warnings.find(({ id }) => id === 'cross_zone');
  return (
    <div className="flex flex-col gap-2 empty:hidden">
      {zoneCount > 1 ? (
        <Banner tone="warn">
          <span title={say(zones?.hint) || undefined}>{w.create.crossZone}</span>
        </Banner>
      ) : null}
      {warnings.map(({ id, text, hint }) => (
        <Banner key={id} tone="warn">
          {tell(text)}
          {hint ? <span className="block text-xs">{prose(advise(hint))}</span> : null}
        </Banner>
      ))}
      {refusal ? (
        <Banner tone="bad">
          {refusal.isUnreachable ? w.common.unreachable : refusal.text}
          {refusal.hint ? <span className="block text-xs">{refusal.hint}</span> : null}
        </Banner>
      ) : null}
    </div>
  );
}

function Chosen({ chosen, master }: { chosen: readonly Environment[]; master: string | null }) {
  const { w, number } = useWords();
  return (
    <section>
      <h3 className="pb-2 text-xs text-muted">{w.create.chosenEnvironments}</h3>
      <ul className="flex max-h-40 flex-col gap-1.5 overflow-y-auto">
        {chosen.map((environment) => (
          <li key={environment.id} className="flex items-center gap-2 text-sm">
            <span className="min-w-0 truncate" title={environment.name}>
              {environment.name}
            </span>
            {environment.id === master ? (
              <span className="shrink-0 text-2xs font-medium text-warn">{w.create.master}</span>
            ) : null}
            <span className="ml-auto">
              <Badge>
                {gpuText(environment)?.replaceAll('x ', 'x') ??
                  w.create.workerCount(number(environment.workers.length))}
              </Badge>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
