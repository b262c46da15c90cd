import { useQuery } from '@tanstack/react-query';
import { frameworksQuery } from '~/api/queries';
import { SelectField } from '~/ui/SelectField';
import { useWords } from '~/words';
import { anchor } from './refusal';
import { type PartProps, refusedAt } from './useCreate';

/** The framework, with what the server says of it. */
export function FrameworkSelect({ form, set, refused }: PartProps) {
  const { w, say } = useWords();
  const frameworks = useQuery(frameworksQuery());
  const cards = frameworks.data?.items ?? [];
  const card = cards.find(({ value }) => value === form.framework);
  return (
    <div id={anchor('framework')}>
      <SelectField
        label={w.create.framework}
        error={refusedAt(refused, 'framework')}
        hint={
          card ? (
            <span title={card.features.map(say).join(' · ')}>
              {say(card.kind)} · {say(card.suits)}
            </span>
          ) : undefined
        }
        value={form.framework}
        onChange={(framework) => set({ framework, zeroStage: framework === 'deepspeed' ? form.zeroStage : '' })}
        options={cards.map(({ value, label, kind, vendor }) => ({
          value,
          label,
          note: `${say(kind)} · ${say(vendor)}`,
        }))}
      />
    </div>
  );
}
