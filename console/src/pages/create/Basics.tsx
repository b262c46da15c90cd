import { useQuery } from '@tanstack/react-query';
import { datasetsQuery, modelsQuery } from '~/api/queries';
import { Card } from '~/ui/Card';
import { Combobox } from '~/ui/Combobox';
import { Command } from '~/ui/Copy';
import { Field, Input } from '~/ui/Field';
import { useWords } from '~/words';
import { anchor } from './refusal';
import { type PartProps, refusedAt } from './useCreate';

export function Basics({ form, set, refused }: PartProps) {
  const { w } = useWords();
  const datasets = useQuery(datasetsQuery());
  const models = useQuery(modelsQuery());
  const versions = (datasets.data?.items ?? []).flatMap((dataset) =>
    dataset.versions.map((version) => ({
      value: `${dataset.id} ${version.id}`,
      label: `${dataset.name} · ${version.version}`,
      note: version.path,
    })),
  );
  const bare = datasets.data?.items[0];
  const dataset = form.datasetId && form.datasetVersionId ? `${form.datasetId} ${form.datasetVersionId}` : null;
  return (
    <Card title={w.create.basics} bodyClass="grid gap-4 p-4 sm:grid-cols-2">
      <div id={anchor('name')} className="sm:col-span-2">
        <Field label={w.create.name} isRequired error={refusedAt(refused, 'name')}>
          {(props) => (
            <Input
              {...props}
              value={form.taskName}
              placeholder={w.create.nameExample}
              onChange={(event) => set({ taskName: event.currentTarget.value })}
            />
          )}
        </Field>
      </div>
      <div id={anchor('dataset')}>
        <Field
          label={w.create.dataset}
          isRequired={form.work === 'command' && form.command.trim() === ''}
          hint={w.create.datasetHint}
          error={refusedAt(refused, 'dataset')}
        >
          {(props) => (
            <Combobox
              {...props}
              value={dataset}
              onChange={(next) => {
                const [datasetId = null, datasetVersionId = null] = next?.split(' ') ?? [];
                set({ datasetId, datasetVersionId });
              }}
              options={versions}
              placeholder={w.create.chooseDataset}
            />
          )}
        </Field>
      </div>
      <Field label={w.create.model}>
        {(props) => (
          <Combobox
            {...props}
            value={form.modelId}
            onChange={(modelId) => set({ modelId })}
            options={(models.data?.items ?? []).map((model) => ({
              value: model.id,
              label: model.name,
              ...(model.path ? { note: model.path } : {}),
            }))}
            placeholder={w.create.chooseModel}
          />
        )}
      </Field>
      {datasets.data && versions.length === 0 ? (
        <div className="flex flex-col gap-2 text-sm text-muted sm:col-span-2">
          {bare ? w.create.noVersions : w.create.noDatasets}
          <Command
            text={
              bare
                ? `fermi dataset add-version ${bare.id} --version v1 --path /data/corpus`
                : 'fermi dataset create corpus --path /data/corpus'
            }
          />
        </div>
      ) : null}
    </Card>
  );
}
