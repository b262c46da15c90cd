import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { JoinCommand } from '~/api/JoinCommand';
import { Loaded } from '~/api/Loaded';
import { environmentsQuery } from '~/api/queries';
import { EnvironmentPill } from '~/api/Status';
import type { Environment, Worker } from '~/api/types';
import { Card } from '~/ui/Card';
import { classes } from '~/ui/classes';
import { Empty } from '~/ui/Empty';
import { ServerIcon } from '~/ui/icons';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { FILLS } from './fills';
import { ZoneSquares } from './ZoneSquares';
import { byZone, type SquareState, squareState } from './zones';

/** Of so many environments each worker is shown; of more, one square stands for an environment. */
const FEW = 100;

/** Every worker as a square, by environment and zone. */
export function ClusterMap() {
  const { w, number } = useWords();
  const environments = useQuery(environmentsQuery());
  const isMany = (environments.data?.items.length ?? 0) > FEW;
  return (
    <Card
      title={w.overview.cluster}
      note={isMany ? w.overview.clusterHintMany : w.overview.clusterHint}
      actions={<Legend />}
    >
      <Loaded
        query={environments}
        loading={<SkeletonRows count={3} className="h-16" />}
        isEmpty={(data) => data.items.length === 0}
        empty={
          <Empty
            icon={<ServerIcon />}
            title={w.overview.noEnvironments}
            hint={w.overview.noEnvironmentsHint}
            command={<JoinCommand joining={{ name: 'my-env', workers: '2' }} />}
          />
        }
      >
        {(data) => (
          <div className="divide-y divide-line">
            {byZone(data.items).map((zone) => (
              <section key={zone.name ?? ''} className="grid gap-3 px-4 py-3 md:grid-cols-[140px_minmax(0,1fr)]">
                <div className="flex min-w-0 items-baseline gap-2 md:flex-col md:gap-0">
                  <h3 className="max-w-full truncate text-sm font-medium" title={zone.name ?? undefined}>
                    {zone.name ?? w.common.noZone}
                  </h3>
                  <p className="text-xs text-muted">{w.overview.freeOf(number(zone.free), number(zone.workers))}</p>
                </div>
                {isMany ? (
                  <ZoneSquares environments={zone.environments} />
                ) : (
                  <div className="grid grid-cols-[repeat(auto-fill,minmax(190px,1fr))] gap-3">
                    {zone.environments.map((environment) => (
                      <EnvironmentSquares key={environment.id} environment={environment} />
                    ))}
                  </div>
                )}
              </section>
            ))}
          </div>
        )}
      </Loaded>
    </Card>
  );
}

function EnvironmentSquares({ environment }: { environment: Environment }) {
  const gpus = environment.gpus.map((gpu) => `${gpu.count}x ${gpu.model}`).join(', ');
  return (
    <div className="min-w-0">
      <div className="mb-1.5 flex items-center gap-2">
        <span className="min-w-0 truncate text-sm" title={environment.name}>
          {environment.name}
        </span>
        {gpus ? (
          <span className="min-w-0 truncate text-xs text-faint" title={gpus}>
            {gpus}
          </span>
        ) : null}
        <span className="ml-auto">
          {environment.status === 'running' || environment.status === 'busy' ? null : (
            <EnvironmentPill environment={environment} />
          )}
        </span>
      </div>
      <div className="flex flex-wrap gap-1">
        {environment.workers.map((worker) => (
          <Square key={worker.id} environment={environment} worker={worker} />
        ))}
      </div>
    </div>
  );
}

function Square({ environment, worker }: { environment: Environment; worker: Worker }) {
  const { w, say } = useWords();
  const state = squareState(environment, Boolean(worker.taskId));
  const name = `${worker.id} · ${worker.taskId ?? (state === 'free' ? w.common.free : say(environment.statusText))}`;
  const look = classes('block size-4 rounded-sm border', FILLS[state]);
  if (!worker.taskId) return <span role="img" aria-label={name} title={name} className={look} />;
  return (
    <Link
      to="/training/$id"
      params={{ id: worker.taskId }}
      aria-label={name}
      title={name}
      className={classes(look, 'hover:opacity-80')}
    />
  );
}

function Legend() {
  const { w } = useWords();
  const entries: [SquareState, string][] = [
    ['free', w.overview.legendFree],
    ['busy', w.overview.legendBusy],
    ['suspect', w.overview.legendSuspect],
    ['offline', w.overview.legendOffline],
  ];
  return (
    <ul className="hidden gap-3 md:flex">
      {entries.map(([state, label]) => (
        <li key={state} className="flex items-center gap-1.5 text-xs text-muted">
          <span aria-hidden="true" className={classes('size-3 rounded-sm border', FILLS[state])} />
          {label}
        </li>
      ))}
    </ul>
  );
}
