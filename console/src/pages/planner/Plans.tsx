import { Link } from '@tanstack/react-router';
import type { PlanReport, PlanRequest } from '~/api/types';
import { buttonClass } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Choice } from '~/ui/Choice';
import { CheckIcon, WarnIcon } from '~/ui/icons';
import { useWords } from '~/words';
import { Layouts } from './Layouts';
import { MemoryBar } from './MemoryBar';
import { Scaling } from './Scaling';
import { SHOWN, type Shown } from './search';

type PlansProps = {
  plan: PlanReport;
  /** What it answers, or will answer. */
  asked: PlanRequest;
  /** It is of other numbers; the new word is on its way. */
  isOld: boolean;
  shown: Shown;
  onShown: (shown: Shown) => void;
};

/** All that the planner says: what to take, all layouts, how it scales. */
export function Plans({ plan, asked, isOld, shown, onShown }: PlansProps) {
  const { w, number } = useWords();
  const isAll = shown === 'layouts';
  return (
    <div
      aria-busy={isOld}
      className={`grid items-start gap-4 transition-opacity xl:grid-cols-[minmax(0,1fr)_336px] ${isOld ? 'opacity-60' : ''}`}
    >
      <Card
        title={w.planner.layouts}
        note={
          isAll
            ? w.planner.layoutsNote(number(plan.layouts.length), number(plan.layoutCount))
            : w.planner.strategiesNote
        }
        actions={
          <Choice
            label={w.planner.shows}
            isLabelHidden
            value={shown}
            options={SHOWN.map((value) => ({
              value,
              label: value === 'layouts' ? w.planner.allLayouts : w.planner.bestOfEach,
            }))}
            onChange={onShown}
          />
        }
        className="xl:row-span-2"
      >
        <Layouts rows={isAll ? plan.layouts : plan.strategies} cardGib={plan.gpuMemoryGib} />
      </Card>
      <div className="flex min-w-0 flex-col gap-4 max-xl:order-first">
        <Advice plan={plan} asked={asked} />
        <Scaling points={plan.scaling} />
      </div>
    </div>
  );
}

function Advice({ plan, asked }: Pick<PlansProps, 'plan' | 'asked'>) {
  const { w, say, number, value } = useWords();
  const { choice, remedies } = plan;
  if (!choice) {
    const least = Math.min(...plan.layouts.map(({ missingGib }) => missingGib));
    return (
      <Card title={w.planner.advice} bodyClass="flex flex-col gap-2 p-4">
        <p className="flex items-center gap-2 text-lg font-semibold">
          <WarnIcon className="shrink-0 text-bad" />
          {w.planner.noChoice}
        </p>
        <p className="text-sm text-muted">{w.planner.noChoiceHint(least.toFixed(1))}</p>
        <ul className="divide-y divide-line text-sm">
          {remedies.map((remedy) => (
            <li key={remedy.what.en} className="flex gap-2 py-1.5">
              {remedy.fits ? (
                <CheckIcon role="img" aria-label={w.planner.fits} className="mt-0.5 shrink-0 text-good" />
              ) : (
                <span role="img" aria-label={w.planner.fitsNot} className="w-4 shrink-0 text-center text-faint">
                  –
                </span>
              )}
              <span className={`min-w-0 flex-1 ${remedy.fits ? '' : 'text-muted'}`}>{say(remedy.what)}</span>
              <span className="shrink-0 text-xs leading-5 text-muted">{remedy.neededGib.toFixed(1)} GiB</span>
            </li>
          ))}
        </ul>
      </Card>
    );
  }
  const { layout } = choice;
  return (
    <Card title={w.planner.advice} bodyClass="flex flex-col gap-3 p-4">
      <div>
        <p className="text-lg font-semibold">{layout.name}</p>
        <p className="mt-0.5 text-sm text-muted">{say(choice.reason)}</p>
      </div>
      <MemoryBar layout={layout} cardGib={plan.gpuMemoryGib} isExplained />
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 border-t border-line pt-3 text-sm [&>dd]:text-right [&>dd]:font-medium [&>dt]:text-muted">
        <dt>{w.planner.step}</dt>
        <dd title={w.planner.usually}>
          {w.planner.seconds(value(layout.stepTimeS))}{' '}
          <span className="text-xs font-normal text-muted">
            ({w.planner.between(value(layout.stepTimeLowS), value(layout.stepTimeHighS))})
          </span>
        </dd>
        <dt>{w.planner.throughput}</dt>
        <dd>{number(Math.round(layout.tokensPerS))}</dd>
      </dl>
      <Link
        to="/training/create"
        search={{ env: asked.nodeIds?.join(','), model: asked.modelId }}
        className={buttonClass('plain', 'sm')}
      >
        {w.planner.train}
      </Link>
    </Card>
  );
}
