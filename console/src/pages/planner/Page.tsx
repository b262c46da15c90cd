import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { EnvironmentPicker } from '~/api/EnvironmentPicker';
import { JoinCommand } from '~/api/JoinCommand';
import { Loaded } from '~/api/Loaded';
import { environmentsQuery, modelsQuery } from '~/api/queries';
import { Card } from '~/ui/Card';
import { Combobox } from '~/ui/Combobox';
import { Command } from '~/ui/Copy';
import { Empty } from '~/ui/Empty';
import { Field } from '~/ui/Field';
import { CubeIcon, PlannerIcon, ServerIcon } from '~/ui/icons';
import { PageHeader } from '~/ui/PageHeader';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { Plans } from './Plans';

const route = getRouteApi('/planner');

export function Page() {
  const { w } = useWords();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const models = useQuery(modelsQuery());
  const environments = useQuery(environmentsQuery());
  const withGpus = environments.data?.items.filter((environment) => environment.gpuCount > 0) ?? [];
  const chosen = (search.env ?? '').split(',').filter((id) => withGpus.some((environment) => environment.id === id));
  const model = models.data?.items.find((item) => item.id === search.model);
  const counts = withGpus.filter((environment) => chosen.includes(environment.id));
  const gpus = counts.map((environment) => `1x${environment.gpuCount}x${environment.gpuType ?? 'A100'}`).join(',');
  const command = `fermi plan --model ${model?.name ?? 'llama2-7b'} --gpus ${gpus || '4x8xA100-80G'} --network 100Gbps`;
  return (
    <>
      <PageHeader title={w.planner.title} note={w.planner.about} />
      <div className="flex flex-col gap-4">
        <Card>
          <Loaded
            query={models}
            loading={<SkeletonRows count={1} />}
            isEmpty={(data) => data.items.length === 0}
            empty={
              <Empty
                icon={<CubeIcon />}
                title={w.planner.noModels}
                hint={w.planner.noModelsHint}
                command="fermi model create llama2-7b --path /models/llama2-7b"
              />
            }
          >
            {(data) => (
              <Field label={w.planner.model} className="max-w-100 px-4 pt-4">
                {(props) => (
                  <Combobox
                    id={props.id}
                    placeholder={w.planner.chooseModel}
                    value={model?.id ?? null}
                    onChange={(next) =>
                      void navigate({ search: (before) => ({ ...before, model: next ?? undefined }), replace: true })
                    }
                    options={data.items.map((item) => ({
                      value: item.id,
                      label: item.name,
                      ...(item.path ? { note: item.path } : {}),
                    }))}
                  />
                )}
              </Field>
            )}
          </Loaded>
          <h2 className="px-4 pt-4 text-sm font-medium">{w.planner.environments}</h2>
          <Loaded
            query={environments}
            loading={<SkeletonRows count={2} />}
            isEmpty={() => withGpus.length === 0}
            empty={
              <Empty
                icon={<ServerIcon />}
                title={w.planner.noGpus}
                hint={w.planner.noGpusHint}
                command={<JoinCommand joining={{ name: 'gn6', declared: 'gpus=8xA100,cpus=128,memory=1024GiB' }} />}
              />
            }
          >
            {() => (
              <EnvironmentPicker
                environments={withGpus}
                chosen={chosen}
                onChosen={(ids) =>
                  void navigate({ search: (before) => ({ ...before, env: ids.join(',') || undefined }), replace: true })
                }
              />
            )}
          </Loaded>
        </Card>
        {model && chosen.length > 0 ? (
          <Plans
            model={model.id}
            chosen={chosen}
            gpuCounts={chosen.map((id) => withGpus.find((environment) => environment.id === id)?.gpuCount ?? 0)}
            command={command}
          />
        ) : (
          <Card>
            <Empty icon={<PlannerIcon />} title={w.planner.choose} />
          </Card>
        )}
        <Card title={w.planner.more} bodyClass="flex flex-col gap-3 p-4">
          <p className="text-sm text-muted">{w.planner.moreText}</p>
          <Command text={command} />
        </Card>
      </div>
    </>
  );
}
