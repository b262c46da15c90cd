import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { EnvironmentPicker } from '~/api/EnvironmentPicker';
import { JoinCommand } from '~/api/JoinCommand';
import { Loaded } from '~/api/Loaded';
import { environmentsQuery } from '~/api/queries';
import { Card } from '~/ui/Card';
import { Empty } from '~/ui/Empty';
import { CheckListIcon, ServerIcon } from '~/ui/icons';
import { PageHeader } from '~/ui/PageHeader';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { Findings } from './Findings';
import { Measured } from './Measured';
import { StartCard } from './StartCard';
import { VersionTable } from './VersionTable';

const route = getRouteApi('/preflight');

export function Page() {
  const { w } = useWords();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const environments = useQuery(environmentsQuery());
  const all = environments.data?.items ?? [];
  const ids = (search.env ?? '').split(',');
  const chosen = ids.flatMap((id) => all.find((environment) => environment.id === id) ?? []);
  return (
    <>
      <PageHeader title={w.preflight.title} note={w.preflight.about} />
      <div className="flex flex-col gap-4">
        <Card title={w.preflight.environments}>
          <Loaded
            query={environments}
            loading={<SkeletonRows count={3} />}
            isEmpty={(data) => data.items.length === 0}
            empty={
              <Empty
                icon={<ServerIcon />}
                title={w.preflight.none}
                hint={w.preflight.noneHint}
                command={<JoinCommand joining={{ name: 'my-env', workers: '2' }} />}
              />
            }
          >
            {(data) => (
              <EnvironmentPicker
                environments={data.items}
                chosen={chosen.map((environment) => environment.id)}
                onChosen={(next) =>
                  void navigate({
                    search: next.length > 0 ? { env: next.join(',') } : {},
                    replace: true,
                    resetScroll: false,
                  })
                }
              />
            )}
          </Loaded>
        </Card>
        {chosen.length === 0 ? (
          search.id ? (
            <Measured key={search.id} id={search.id} />
          ) : (
            <Card>
              <Empty icon={<CheckListIcon />} title={w.preflight.choose} />
            </Card>
          )
        ) : (
          <>
            <StartCard
              names={chosen.map((environment) => environment.name)}
              onStarted={(id) =>
                void navigate({ search: (search) => ({ ...search, id }), replace: true, resetScroll: false })
              }
            />
            {search.id ? <Measured key={search.id} id={search.id} /> : null}
            <Findings chosen={chosen} />
            <VersionTable chosen={chosen} />
          </>
        )}
      </div>
    </>
  );
}
