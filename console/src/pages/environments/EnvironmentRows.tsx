import { memo } from 'react';
import { gpuText } from '~/api/environments';
import { EnvironmentPill } from '~/api/Status';
import type { Environment } from '~/api/types';
import { classes } from '~/ui/classes';
import { VirtualRows } from '~/ui/VirtualRows';
import { useWords } from '~/words';
import { Actions } from './Actions';
import { Heartbeat, Uptime } from './Heartbeat';
import { versionsOf } from './versions';

const GRID =
  'grid min-w-[980px] grid-cols-[minmax(150px,1.2fr)_84px_minmax(100px,0.8fr)_minmax(196px,1.2fr)_72px_92px_88px_minmax(76px,1fr)_32px] items-center gap-2 px-4';
const ROW = 44;

type EnvironmentRowsProps = { environments: readonly Environment[]; asOf: number; onShow: (id: string) => void };

/** Any number of environments as a table. */
export function EnvironmentRows({ environments, asOf, onShow }: EnvironmentRowsProps) {
  const { w } = useWords();
  const heads = [
    w.environments.name,
    w.common.status,
    w.environments.zone,
    w.environments.resources,
    w.environments.use,
    w.environments.heartbeat,
    w.environments.uptime,
    w.environments.versions,
    '',
  ];
  return (
    <VirtualRows
      label={w.environments.title}
      count={environments.length}
      rowHeight={ROW}
      className="max-h-[calc(100dvh-190px)] min-h-60 rounded-lg"
      head={
        <div role="row" className={classes(GRID, 'h-9 border-b border-line text-xs font-medium text-muted')}>
          {heads.map((head, index) => (
            <span key={head || index} role="columnheader" className="truncate">
              {head || <span className="sr-only">{w.environments.actions}</span>}
            </span>
          ))}
        </div>
      }
      row={(index) => {
        const environment = environments[index];
        return environment ? <Row environment={environment} asOf={asOf} onShow={onShow} /> : null;
      }}
    />
  );
}

type RowProps = { environment: Environment } & Omit<EnvironmentRowsProps, 'environments'>;

const Row = memo(function Row({ environment, asOf, onShow }: RowProps) {
  const { w, number } = useWords();
  const resources = [
    gpuText(environment) ?? w.environments.workers(number(environment.workers.length)),
    w.environments.cores(number(environment.cpuCores)),
    w.environments.gigabytes(number(environment.memory)),
  ].join(' · ');
  const versions = versionsOf(environment)
    .map(([name, version]) => `${name} ${version}`)
    .join(' · ');
  return (
    <div role="row" className={classes(GRID, 'h-full border-b border-line text-sm hover:bg-hover')}>
      <span role="cell" className="min-w-0">
        <button
          type="button"
          title={environment.name}
          onClick={() => onShow(environment.id)}
          className="block max-w-full truncate font-medium hover:text-accent"
        >
          {environment.name}
        </button>
      </span>
      <span role="cell">
        <EnvironmentPill environment={environment} />
      </span>
      <span role="cell" className="truncate text-muted" title={environment.zone ?? ''}>
        {environment.zone ?? '–'}
      </span>
      <span role="cell" className="truncate text-muted" title={resources}>
        {resources}
      </span>
      <span role="cell" className="text-xs text-muted">
        {w.environments.freeOf(number(environment.workersFree), number(environment.workers.length))}
      </span>
      <span role="cell" className="text-xs text-muted">
        <Heartbeat environment={environment} asOf={asOf} />
      </span>
      <span role="cell" className="text-xs text-muted">
        <Uptime environment={environment} />
      </span>
      <span role="cell" className="truncate font-mono text-2xs text-faint" title={versions}>
        {versions}
      </span>
      <span role="cell">
        <Actions environment={environment} />
      </span>
    </div>
  );
});
