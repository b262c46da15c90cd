import { Pill, type Tone } from '~/ui/Pill';
import { Progress } from '~/ui/Progress';
import { useWords } from '~/words';
import type { Plan } from './plan';

const TONES: Record<Plan['id'], Tone> = { fits: 'good', fitsTightly: 'warn', doesNotFit: 'bad' };

/** Whether it fits, how full each GPU is, and how fast it would be. */
export function PlanWord({ plan }: { plan: Plan }) {
  const { w, say, value } = useWords();
  const words: Record<Plan['id'], string> = {
    fits: w.create.fits,
    fitsTightly: w.create.tight,
    doesNotFit: w.create.fitsNot,
  };
  return (
    <div className="flex flex-col gap-2 text-sm">
      <div className="flex items-center gap-2">
        <span className="min-w-0 truncate font-medium" title={plan.name}>
          {plan.name}
        </span>
        <Pill tone={TONES[plan.id]}>{words[plan.id]}</Pill>
      </div>
      <div>
        <div className="flex justify-between pb-1 text-xs text-muted">
          <span>{w.create.memoryPerGpu}</span>
          <span>{w.create.memoryOf(plan.memoryGib.toFixed(1), plan.gpuMemoryGib.toFixed(0))}</span>
        </div>
        <Progress share={plan.memoryGib / plan.gpuMemoryGib} label={w.create.memoryPerGpu} tone={TONES[plan.id]} />
      </div>
      {plan.stepTimeS != null && plan.tokensPerS != null ? (
        <dl className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-1 text-xs text-muted [&>dd]:text-right [&>dd]:text-text">
          <dt>{w.create.stepTime}</dt>
          <dd>{w.create.seconds(value(plan.stepTimeS))}</dd>
          <dt>{w.create.speed}</dt>
          <dd>{w.create.tokens(value(plan.tokensPerS))}</dd>
        </dl>
      ) : (
        <p className="text-xs text-bad">{say(plan.sentence)}</p>
      )}
    </div>
  );
}
