import { Checkbox } from '~/ui/Checkbox';
import { classes } from '~/ui/classes';
import { useWords } from '~/words';
import { EnvironmentPill } from './Status';
import type { Environment } from './types';

type EnvironmentPickerProps = {
  environments: readonly Environment[];
  chosen: readonly string[];
  onChosen: (ids: string[]) => void;
};

/** Environments to tick, in the order in which they are ticked. */
export function EnvironmentPicker({ environments, chosen, onChosen }: EnvironmentPickerProps) {
  const { w } = useWords();
  return (
    <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,230px),1fr))] gap-2 p-4">
      {environments.map((environment) => {
        const isChosen = chosen.includes(environment.id);
        const gpus = environment.gpus.map((gpu) => `${gpu.count}x ${gpu.model}`).join(', ');
        const facts = [gpus || `${environment.workers.length} Worker`, environment.zone ?? w.common.noZone].join(' · ');
        return (
          <li key={environment.id}>
            <label
              className={classes(
                'flex cursor-pointer items-center gap-3 rounded-md border px-3 py-2 transition-colors',
                isChosen ? 'border-accent bg-accent-soft' : 'border-line hover:bg-hover',
              )}
            >
              <Checkbox
                aria-label={environment.name}
                checked={isChosen}
                onChange={(next) =>
                  onChosen(next ? [...chosen, environment.id] : chosen.filter((id) => id !== environment.id))
                }
              />
              <span className="min-w-0 flex-1">
                <span className="block truncate text-sm font-medium" title={environment.name}>
                  {environment.name}
                </span>
                <span className="block truncate text-xs text-muted" title={facts}>
                  {facts}
                </span>
              </span>
              {environment.status === 'running' ? null : <EnvironmentPill environment={environment} />}
            </label>
          </li>
        );
      })}
    </ul>
  );
}
