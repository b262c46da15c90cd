import { Button } from '~/ui/Button';
import { Field, Input, TextArea } from '~/ui/Field';
import { SelectField } from '~/ui/SelectField';
import { useWords } from '~/words';
import { anchor } from './refusal';
import { RECIPES, sampleOf, trainingOf } from './training';
import { type PartProps, refusedAt } from './useCreate';

/** An algorithm and its training.yaml, edited here. */
export function Recipe({ form, set, refused }: PartProps) {
  const { w } = useWords();
  const { problem } = trainingOf(form.training);
  const error = problem ? w.create.trainingWrong(problem) : refusedAt(refused, 'work');
  const isSample = RECIPES.some((recipe) => sampleOf(recipe) === form.training);
  return (
    <div id={anchor('work')} className="flex flex-col gap-4">
      <SelectField
        label={w.create.algorithm}
        hint={w.create.recipeRows[form.recipe]}
        value={form.recipe}
        onChange={(recipe) =>
          set({ recipe, ...(isSample || form.training === '' ? { training: sampleOf(recipe) } : {}) })
        }
        options={RECIPES.map((value) => ({ value, label: w.create.recipes[value] }))}
      />
      <Field label="training.yaml" hint={w.create.trainingHint} error={error}>
        {(props) => (
          <TextArea
            {...props}
            className="min-h-64 whitespace-pre font-mono text-xs leading-5"
            value={form.training}
            placeholder={sampleOf(form.recipe)}
            onChange={(event) => set({ training: event.currentTarget.value })}
          />
        )}
      </Field>
      {form.training === '' ? (
        <Button size="sm" className="self-start" onClick={() => set({ training: sampleOf(form.recipe) })}>
          {w.create.trainingSample}
        </Button>
      ) : null}
      <Field label={w.create.recipeArgs} hint={w.create.recipeArgsHint}>
        {(props) => (
          <Input
            {...props}
            className="font-mono"
            value={form.recipeArgs}
            placeholder="--trainer my_module:MyTrainer"
            onChange={(event) => set({ recipeArgs: event.currentTarget.value })}
          />
        )}
      </Field>
    </div>
  );
}
