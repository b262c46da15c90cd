import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { quoted } from '~/api/argv';
import { EnvironmentPicker } from '~/api/EnvironmentPicker';
import { JoinCommand } from '~/api/JoinCommand';
import { Loaded, Problem } from '~/api/Loaded';
import { environmentsQuery, modelsQuery } from '~/api/queries';
import type { Environment, PlanRequest } from '~/api/types';
import { Card } from '~/ui/Card';
import { Command } from '~/ui/Copy';
import { Empty } from '~/ui/Empty';
import { CubeIcon, PlannerIcon, ServerIcon } from '~/ui/icons';
import { useLater } from '~/ui/later';
import { PageHeader } from '~/ui/PageHeader';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { Plans } from './Plans';
import { planQuery } from './plans';
import type { PlannerSearch } from './search';
import { Wish } from './Wish';

const route = getRouteApi('/planner');

export function Page() {
  const { w } = useWords();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const models = useQuery(modelsQuery());
  const environments = useQuery(environmentsQuery());
  const withGpus = environments.data?.items.filter((environment) => environment.gpuCount > 0) ?? [];
  const byId = new Map(withGpus.map((environment) => [environment.id, environment]));
  const chosen = (search.env ?? '').split(',').flatMap((id): Environment[] => [byId.get(id) ?? []].flat());
  const model = models.data?.items.find((item) => item.id === search.model);
  const change = (patch: { [Key in keyof PlannerSearch]?: PlannerSearch[Key] | undefined }) =>
    void navigate({
      search: (before) => ({ ...before, ...patch }) as PlannerSearch,
      replace: true,
      resetScroll: false,
    });
  const command = commandOf(model?.name, chosen, search);
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
              <Wish
                models={data.items}
                search={search}
                gpus={chosen.reduce((sum, { gpuCount }) => sum + gpuCount, 0)}
                onChange={change}
              />
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
                chosen={chosen.map(({ id }) => id)}
                onChosen={(ids) => change({ env: ids.join(',') || undefined })}
              />
            )}
          </Loaded>
        </Card>
        {model && chosen.length > 0 ? (
          <Planned
            request={{
              modelId: model.id,
              nodeIds: chosen.map(({ id }) => id),
              ...(search.seq ? { seqLength: search.seq } : {}),
              ...(search.batch ? { globalBatch: search.batch } : {}),
              ...(search.precision ? { precision: search.precision } : {}),
            }}
            search={search}
            onChange={change}
          />
        ) : (
          <Card>
            <Empty icon={<PlannerIcon />} title={w.planner.choose} hint={w.planner.chooseHint} command={command} />
          </Card>
        )}
        {model && chosen.length > 0 ? (
          <Card title={w.planner.same} note={w.planner.sameNote} bodyClass="p-4">
            <Command text={command} />
          </Card>
        ) : null}
      </div>
    </>
  );
}

type PlannedProps = {
  request: PlanRequest;
  search: PlannerSearch;
  onChange: (patch: Pick<PlannerSearch, 'show'> | { show: undefined }) => void;
};

function Planned({ request, search, onChange }: PlannedProps) {
  // A number that is being typed is not asked about digit by digit.
  const asked = JSON.parse(useLater(JSON.stringify(request), 250)) as PlanRequest;
  const plan = useQuery(planQuery(asked));
  if (plan.data && !plan.error) {
    return (
      <Plans
        plan={plan.data}
        asked={asked}
        isOld={plan.isPlaceholderData}
        shown={search.show ?? 'strategies'}
        onShown={(show) => onChange({ show: show === 'layouts' ? show : undefined })}
      />
    );
  }
  return (
    <Card>
      {plan.error ? <Problem error={plan.error} onRetry={() => void plan.refetch()} /> : <SkeletonRows count={6} />}
    </Card>
  );
}

/** The same plan on the command line. */
function commandOf(model: string | undefined, chosen: readonly Environment[], search: PlannerSearch): string {
  // The server plans with the first kind of a machine that has several.
  const gpus = chosen.map(({ gpuCount, gpus: [first] }) => `1x${gpuCount}x${first?.model ?? 'A100'}`).join(',');
  return [
    `fermi plan --model ${quoted(model ?? 'llama2-7b')} --gpus ${gpus ? quoted(gpus) : '4x8xA100-80G --network 100Gbps'}`,
    search.seq ? `--seq-len ${search.seq}` : null,
    search.batch ? `--global-batch ${search.batch}` : null,
    search.precision ? `--precision ${search.precision}` : null,
  ]
    .filter(Boolean)
    .join(' ');
}
