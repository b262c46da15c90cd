import { useFrameworkName } from '~/api/useFrameworkName';
import { ChipIcon } from '~/ui/icons';
import { useWords } from '~/words';
import type { Form } from './form';

/** What is asked for, where the server picks. */
export function AutoTotals({ form }: { form: Form }) {
  const { w, number } = useWords();
  const name = useFrameworkName(form.framework);
  const { auto } = form;
  const [nodes, perNode] = [auto.nodes, auto.perNode].map((text) => Math.max(1, Math.floor(Number(text)) || 1)) as [
    number,
    number,
  ];
  const isGpus = auto.unit === 'gpus';
  const lines = [
    [w.create.nodes, w.create.countOf(number(nodes))],
    [isGpus ? w.create.gpus : w.create.workers, w.create.countOf(number(nodes * perNode))],
    [w.create.autoGpu, auto.gpuType || w.create.any],
    [w.common.zone, auto.zone || w.create.any],
  ];
  return (
    <div className="flex flex-col gap-3">
      <p className="flex items-center gap-2 font-semibold">
        <ChipIcon className="text-accent" />
        {w.create.modes.auto}
      </p>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5 text-sm">
        {lines.map(([label, value]) => (
          <div key={label} className="contents">
            <dt className="text-muted">{label}</dt>
            <dd className="truncate text-right font-medium" title={value}>
              {value}
            </dd>
          </div>
        ))}
      </dl>
      {nodes > 1 ? (
        <p className="rounded-md bg-accent-soft px-3 py-2 text-sm text-accent">{w.create.uses(name)}</p>
      ) : null}
    </div>
  );
}
