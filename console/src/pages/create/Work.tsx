import { Card } from '~/ui/Card';
import { Choice } from '~/ui/Choice';
import { Field, Input, TextArea } from '~/ui/Field';
import { ChevronRightIcon } from '~/ui/icons';
import { useWords } from '~/words';
import { Recipe } from './Recipe';
import { anchor } from './refusal';
import { sampleOf } from './training';
import { type PartProps, refusedAt } from './useCreate';

/** What each rank runs. */
export function Work({ form, set, refused }: PartProps) {
  const { w } = useWords();
  const further = [
    form.directory,
    form.interpreter,
    form.variables,
    form.secrets,
    form.maxRestarts,
    form.checkpointDir,
  ];
  const error = refusedAt(refused, 'more');
  const isBlank = form.training === '' && !form.kept.recipe?.config;
  return (
    <Card title={w.create.work} bodyClass="flex flex-col gap-4 p-4">
      <Choice
        label={w.create.work}
        isLabelHidden
        value={form.work}
        options={(['command', 'recipe'] as const).map((value) => ({ value, label: w.create.works[value] }))}
        onChange={(work) => set({ work, ...(work === 'recipe' && isBlank ? { training: sampleOf(form.recipe) } : {}) })}
      />
      {form.work === 'recipe' ? (
        <Recipe form={form} set={set} refused={refused} />
      ) : (
        <div id={anchor('work')}>
          <Field label={w.create.command} hint={w.create.commandHint} error={refusedAt(refused, 'work')}>
            {(props) => (
              <Input
                {...props}
                className="font-mono"
                value={form.command}
                placeholder="train.py --epochs 3"
                onChange={(event) => set({ command: event.currentTarget.value })}
              />
            )}
          </Field>
        </div>
      )}
      <details className="group" open={Boolean(error) || further.some(Boolean)}>
        <summary className="flex cursor-pointer list-none items-center gap-1.5 rounded text-sm text-muted hover:text-text">
          <ChevronRightIcon className="transition-transform group-open:rotate-90" />
          {w.create.more}
        </summary>
        <div id={anchor('more')} className="mt-4 grid gap-4 sm:grid-cols-2">
          {error ? (
            <p role="alert" className="text-xs text-bad sm:col-span-2">
              {error}
            </p>
          ) : null}
          <Text part="directory" label={w.create.directory} placeholder="/workspace/project" form={form} set={set} />
          <Text
            part="interpreter"
            label={w.create.interpreter}
            hint={w.create.interpreterHint}
            placeholder="/opt/venv"
            form={form}
            set={set}
          />
          <Text
            part="checkpointDir"
            label={w.create.checkpointDir}
            hint={w.create.checkpointHint}
            placeholder="/shared/checkpoints"
            form={form}
            set={set}
          />
          <Text part="maxRestarts" label={w.create.maxRestarts} placeholder="0" isNumber form={form} set={set} />
          <Field label={w.create.variables} hint={w.create.variablesHint} className="sm:col-span-2">
            {(props) => (
              <TextArea
                {...props}
                className="font-mono"
                value={form.variables}
                placeholder={'NCCL_DEBUG=INFO\nOMP_NUM_THREADS=8'}
                onChange={(event) => set({ variables: event.currentTarget.value })}
              />
            )}
          </Field>
          {form.work === 'recipe' ? null : (
            <Field label={w.create.secrets} hint={w.create.secretsHint} className="sm:col-span-2">
              {(props) => (
                <TextArea
                  {...props}
                  className="font-mono"
                  value={form.secrets}
                  placeholder="HF_TOKEN=hf-token"
                  onChange={(event) => set({ secrets: event.currentTarget.value })}
                />
              )}
            </Field>
          )}
        </div>
      </details>
    </Card>
  );
}

type TextProps = Pick<PartProps, 'form' | 'set'> & {
  part: 'directory' | 'interpreter' | 'checkpointDir' | 'maxRestarts';
  label: string;
  hint?: string;
  placeholder: string;
  isNumber?: boolean;
};

function Text({ part, label, hint, placeholder, isNumber, form, set }: TextProps) {
  return (
    <Field label={label} hint={hint}>
      {(props) => (
        <Input
          {...props}
          {...(isNumber ? { type: 'number' } : {})}
          className={isNumber ? 'w-full min-w-0' : 'font-mono'}
          value={form[part]}
          placeholder={placeholder}
          onChange={(event) => set({ [part]: event.currentTarget.value })}
        />
      )}
    </Field>
  );
}
