import type { Aggregate, Preview } from '~/api/types';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { NumberField } from '~/ui/NumberField';
import { SelectField } from '~/ui/SelectField';
import { useWords } from '~/words';
import { FrameworkSelect } from './FrameworkSelect';
import type { Form } from './form';
import { PlanWord } from './PlanWord';
import { taken } from './plan';
import { anchor } from './refusal';
import { type PartProps, refusedAt } from './useCreate';

const AUTO = 'auto';
const STAGES = [AUTO, '0', '1', '2', '3'];
const PARALLEL = ['dataParallel', 'pipelineParallel', 'tensorParallel'] as const;
const WHOLE = { min: 1, inputMode: 'numeric' } as const;

type StrategyProps = PartProps & { summary: Aggregate | null; preview: Preview | null };

/** How the work is divided, with the planner's word beside it. */
export function Strategy({ form, set, refused, summary, preview }: StrategyProps) {
  const { w, number } = useWords();
  const error = refusedAt(refused, 'strategy');
  const isSaid = PARALLEL.some((key) => form[key] !== '');
  const factors = PARALLEL.map((key) => Math.max(1, Number(form[key]) || 1));
  const product = `${factors.join(' × ')} = ${number(factors.reduce((a, b) => a * b, 1))}`;
  return (
    <Card title={w.create.strategy} note={w.create.strategyNote}>
      <div id={anchor('strategy')} className="grid gap-x-6 gap-y-4 p-4 md:grid-cols-2">
        <div className="flex flex-col gap-4">
          {form.mode !== 'auto' && form.nodeIds.length > 1 ? null : (
            <FrameworkSelect form={form} set={set} refused={refused} />
          )}
          <div className="grid grid-cols-3 gap-3">
            {PARALLEL.map((key) => (
              <NumberField
                key={key}
                {...WHOLE}
                label={w.create[key]}
                placeholder={w.create.automatic}
                value={form[key]}
                onChange={(value) => set({ [key]: value })}
              />
            ))}
          </div>
          {error ? (
            <p role="alert" className="text-xs text-bad">
              {error}
            </p>
          ) : isSaid && summary ? (
            <p className="text-xs text-muted">{w.create.product(product, number(summary.totalWorkers))}</p>
          ) : null}
          <div className="grid grid-cols-2 gap-3">
            <NumberField
              {...WHOLE}
              label={w.create.microBatch}
              placeholder={w.create.automatic}
              value={form.microBatchSize}
              onChange={(microBatchSize) => set({ microBatchSize })}
            />
            {form.framework === 'deepspeed' ? (
              <SelectField
                label={w.create.zeroStage}
                value={form.zeroStage || AUTO}
                onChange={(stage) => set({ zeroStage: stage === AUTO ? '' : stage })}
                options={STAGES.map((stage) => ({
                  value: stage,
                  label: stage === AUTO ? w.create.automatic : `ZeRO-${stage}`,
                }))}
              />
            ) : null}
          </div>
        </div>
        <Advice form={form} set={set} preview={preview} />
      </div>
    </Card>
  );
}

function Advice({ form, set, preview }: Pick<StrategyProps, 'form' | 'set' | 'preview'>) {
  const { w, say, value } = useWords();
  const plan = (form.mode === 'auto' || form.nodeIds.length > 0) && form.modelId ? preview?.plan : null;
  const suggestion = plan?.suggestion;
  const patch = suggestion ? taken(suggestion) : null;
  const isNew = patch !== null && Object.entries(patch).some(([key, value]) => form[key as keyof Form] !== value);
  return (
    <aside
      aria-label={w.create.planner}
      className="flex flex-col gap-3 rounded-md border border-line bg-sunken p-3 text-sm"
    >
      <h3 className="font-medium">{w.create.planner}</h3>
      {plan ? <PlanWord plan={plan} /> : <p className="text-muted">{w.create.plannerNone}</p>}
      {plan && suggestion ? (
        <div className="flex flex-col gap-2 border-t border-line pt-3">
          <p>
            <span className="text-muted">{w.create.suggestion}</span>{' '}
            <span className="font-medium">{suggestion.name}</span>{' '}
            <span className="text-muted">
              · {w.create.microBatch} {suggestion.microBatch}
            </span>
          </p>
          <p className="text-xs text-muted">
            {say(suggestion.reason)} · {w.create.seconds(value(suggestion.stepTimeS))} ·{' '}
            {w.create.tokens(value(suggestion.tokensPerS))}
          </p>
          {isNew ? (
            <Button size="sm" className="self-start" onClick={() => set(patch ?? {})}>
              {w.create.take}
            </Button>
          ) : null}
        </div>
      ) : null}
    </aside>
  );
}
