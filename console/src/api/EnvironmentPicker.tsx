import { useState } from 'react';
import { Checkbox } from '~/ui/Checkbox';
import { classes } from '~/ui/classes';
import { Empty } from '~/ui/Empty';
import { SearchInput } from '~/ui/Field';
import { VirtualCards } from '~/ui/VirtualCards';
import { useWords } from '~/words';
import { gpuText, narrowed } from './environments';
import { EnvironmentPill } from './Status';
import type { Environment } from './types';

type EnvironmentPickerProps = {
  environments: readonly Environment[];
  chosen: readonly string[];
  onChosen: (ids: string[]) => void;
};

/** So many are seen at a glance; more can be searched. */
const FEW = 12;

/** Environments to tick, in the order in which they are ticked. */
export function EnvironmentPicker({ environments, chosen, onChosen }: EnvironmentPickerProps) {
  const { w } = useWords();
  const [text, setText] = useState('');
  const shown = narrowed(environments, {}, text);
  return (
    <div className="flex flex-col gap-3 p-4">
      {environments.length > FEW ? (
        <SearchInput label={w.environments.search} value={text} onChange={setText} className="w-full sm:w-64" />
      ) : null}
      {shown.length === 0 ? (
        <Empty title={w.common.noMatch} />
      ) : (
        <VirtualCards
          label={w.environments.title}
          count={shown.length}
          cardWidth={230}
          cardHeight={54}
          gap={8}
          className="-m-1 max-h-76 p-1"
          card={(index) => {
            const environment = shown[index];
            return environment ? (
              <Choice
                environment={environment}
                isChosen={chosen.includes(environment.id)}
                onChosen={(next) =>
                  onChosen(next ? [...chosen, environment.id] : chosen.filter((id) => id !== environment.id))
                }
              />
            ) : null;
          }}
        />
      )}
    </div>
  );
}

type ChoiceProps = { environment: Environment; isChosen: boolean; onChosen: (isChosen: boolean) => void };

function Choice({ environment, isChosen, onChosen }: ChoiceProps) {
  const { w, number } = useWords();
  const has = gpuText(environment) ?? w.create.workerCount(number(environment.workers.length));
  const facts = `${has} · ${environment.zone ?? w.common.noZone}`;
  return (
    <label
      className={classes(
        'flex h-full cursor-pointer items-center gap-3 rounded-md border px-3 transition-colors',
        isChosen ? 'border-accent bg-accent-soft' : 'border-line hover:bg-hover',
      )}
    >
      <Checkbox aria-label={environment.name} checked={isChosen} onChange={onChosen} />
      <span className="min-w-0 flex-1">
        <span className="flex items-center justify-between gap-2">
          <span className="truncate text-sm font-medium" title={environment.name}>
            {environment.name}
          </span>
          {environment.status === 'running' ? null : <EnvironmentPill environment={environment} />}
        </span>
        <span className="block truncate text-xs text-muted" title={facts}>
          {facts}
        </span>
      </span>
    </label>
  );
}
