import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import { gpuText } from '~/api/environments';
import { EnvironmentPill } from '~/api/Status';
import type { Environment } from '~/api/types';
import { classes } from '~/ui/classes';
import { Fact } from '~/ui/Fact';
import { ChipIcon, ClockIcon, DiskIcon, PinIcon, PulseIcon } from '~/ui/icons';
import { Badge } from '~/ui/Pill';
import { useWords } from '~/words';
import { Actions } from './Actions';
import { Heartbeat, Uptime } from './Heartbeat';
import { Usage } from './Usage';
import { versionsOf } from './versions';

type EnvironmentCardProps = { environment: Environment; asOf: number; onShow: (id: string) => void };

export const EnvironmentCard = memo(function EnvironmentCard({ environment, asOf, onShow }: EnvironmentCardProps) {
  const { w, say, number } = useWords();
  const versions = versionsOf(environment)
    .map(([name, version]) => `${name} ${version}`)
    .join(' · ');
  return (
    <article className="flex h-full flex-col gap-2.5 rounded-lg border border-line bg-surface p-4 transition-colors hover:border-line-strong">
      <header className="flex items-center gap-2">
        <h2 className="min-w-0 flex-1 truncate font-medium">
          <button
            type="button"
            title={environment.name}
            onClick={() => onShow(environment.id)}
            className="max-w-full truncate align-bottom hover:text-accent"
          >
            {environment.name}
          </button>
        </h2>
        <EnvironmentPill environment={environment} />
        <Actions environment={environment} className="-my-1 -mr-2" />
      </header>
      <dl className="grid grid-cols-2 gap-x-3 gap-y-1.5 text-xs text-muted">
        <Fact icon={<PinIcon />} label={w.environments.zone}>
          <span title={environment.zone ?? ''}>{environment.zone ?? w.common.noZone}</span>
        </Fact>
        <Fact icon={<DiskIcon />} label={w.environments.image}>
          <span title={environment.image ?? ''}>{environment.image ?? w.environments.noImage}</span>
        </Fact>
        <Fact icon={<ChipIcon />} label={w.environments.resources}>
          <span title={environment.declared ? w.environments.declaredHint : undefined}>
            {gpuText(environment) ?? w.environments.workers(number(environment.workers.length))}
          </span>
        </Fact>
        <Fact icon={<ClockIcon />} label={w.environments.uptime}>
          <Uptime environment={environment} />
        </Fact>
        <Fact icon={<PulseIcon />} label={w.environments.heartbeat}>
          <Heartbeat environment={environment} asOf={asOf} />
        </Fact>
        <div className="min-w-0">
          <dt className="sr-only">{w.environments.joinKind}</dt>
          <dd className="flex min-w-0 items-center gap-1.5">
            <Badge>{say(environment.kindText)}</Badge>
            {environment.declared ? <Badge title={w.environments.declaredHint}>{w.environments.declared}</Badge> : null}
          </dd>
        </div>
      </dl>
      <Usage environment={environment} />
      <footer className="mt-auto flex items-center gap-2 text-xs">
        <span className="min-w-0 flex-1 truncate font-mono text-2xs text-faint" title={versions}>
          {versions}
        </span>
        <Link
          to="/training/create"
          search={{ env: environment.id }}
          className={classes('shrink-0 text-accent hover:underline', !isUsable(environment) && 'invisible')}
        >
          {w.environments.train}
        </Link>
      </footer>
    </article>
  );
});

const isUsable = ({ status }: Environment) => status === 'running' || status === 'busy' || status === 'suspect';
