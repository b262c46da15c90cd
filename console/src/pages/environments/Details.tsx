import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { gpuText } from '~/api/environments';
import { environmentMetricsQuery } from '~/api/queries';
import { EnvironmentPill } from '~/api/Status';
import type { Environment } from '~/api/types';
import { Copy } from '~/ui/Copy';
import { Drawer } from '~/ui/Drawer';
import { Badge } from '~/ui/Pill';
import { Sparkline } from '~/ui/Sparkline';
import { useWords } from '~/words';
import { Actions, TrainLink } from './Actions';
import { Heartbeat, Uptime } from './Heartbeat';
import { versionsOf } from './versions';

type DetailsProps = { environment: Environment; asOf: number; onClose: () => void };

/** All of one environment. */
export function Details({ environment, asOf, onClose }: DetailsProps) {
  const { w, say, number } = useWords();
  const labels = Object.entries(environment.labels);
  const versions = versionsOf(environment);
  return (
    <Drawer open onOpenChange={onClose} title={environment.name} footer={<TrainLink environment={environment} />}>
      <div className="flex flex-col gap-6">
        <div className="flex items-center gap-2">
          <EnvironmentPill environment={environment} />
          <Badge>{say(environment.kindText)}</Badge>
          {environment.declared ? <Badge title={w.environments.declaredHint}>{w.environments.declared}</Badge> : null}
          <span className="font-mono text-xs text-faint">{environment.id}</span>
          <span className="ml-auto">
            <Actions environment={environment} />
          </span>
        </div>
        <Facts
          rows={[
            [w.environments.zone, environment.zone ?? w.common.noZone],
            [w.environments.image, environment.image ?? '–'],
            [
              w.environments.address,
              <span key="address" className="inline-flex items-center gap-1 font-mono text-xs">
                {environment.address ?? '–'}
                {environment.address ? <Copy text={environment.address} /> : null}
              </span>,
            ],
            [w.environments.gpu, gpuText(environment) ?? w.common.none],
            [w.environments.cpu, w.environments.cores(number(environment.cpuCores))],
            [w.environments.memory, w.environments.gigabytes(number(environment.memory))],
            [w.environments.heartbeat, <Heartbeat key="beat" environment={environment} asOf={asOf} />],
            [w.environments.uptime, <Uptime key="up" environment={environment} />],
          ]}
        />
        <Machine environment={environment} />
        <Section title={w.environments.versions}>
          {versions.length > 0 ? (
            <Facts rows={versions} isMono />
          ) : (
            <p className="text-muted">{w.environments.unknown}</p>
          )}
        </Section>
        <Section title={w.environments.labels}>
          <div className="flex flex-wrap gap-1.5">
            {labels.length === 0 ? <p className="text-muted">{w.environments.noLabels}</p> : null}
            {labels.map(([key, value]) => (
              <Badge key={key}>{`${key}=${value}`}</Badge>
            ))}
          </div>
        </Section>
        <Section title={w.environments.workers(number(environment.workers.length))}>
          <ul className="divide-y divide-line rounded-md border border-line">
            {environment.workers.map((worker) => (
              <li key={worker.id} className="flex h-9 items-center gap-3 px-3">
                <span className="truncate font-mono text-xs">{worker.id}</span>
                {worker.gpu == null ? null : <span className="text-xs text-muted">GPU {worker.gpu}</span>}
                <span className="ml-auto text-xs">
                  {worker.taskId ? (
                    <Link to="/training/$id" params={{ id: worker.taskId }} className="text-accent hover:underline">
                      {worker.taskId}
                    </Link>
                  ) : (
                    <span className="text-muted">{w.common.free}</span>
                  )}
                </span>
              </li>
            ))}
          </ul>
        </Section>
      </div>
    </Drawer>
  );
}

/** What the machine does, and did in the last hour. */
function Machine({ environment }: { environment: Environment }) {
  const { w, percent, bytes } = useWords();
  const metrics = useQuery(environmentMetricsQuery(environment.id));
  const points = (metrics.data?.points ?? []).slice(-240);
  const { machine } = environment;
  if (!machine) return null;
  const rows: [string, string, number[]][] = [
    [w.environments.cpu, percent(machine.cpu), points.map((point) => point.machine.cpu)],
    [
      w.environments.memory,
      `${bytes(machine.memoryUsed)} / ${bytes(machine.memoryTotal)}`,
      points.map((point) => point.machine.memoryUsed),
    ],
    [
      w.environments.received,
      w.environments.perSecond(bytes(machine.received)),
      points.map((point) => point.machine.received),
    ],
    [w.environments.sent, w.environments.perSecond(bytes(machine.sent)), points.map((point) => point.machine.sent)],
    ...environment.gpuSamples.map((gpu): [string, string, number[]] => [
      `GPU ${gpu.index}`,
      `${percent(gpu.useShare)} · ${bytes(gpu.memoryUsed)}`,
      points.flatMap((point) => point.gpus.filter(({ index }) => index === gpu.index).map(({ useShare }) => useShare)),
    ]),
  ];
  return (
    <Section title={w.environments.lastHour}>
      <ul className="flex flex-col gap-2">
        {rows.map(([name, now, values]) => (
          <li key={name} className="flex h-6 items-center gap-4">
            <span className="w-24 shrink-0 text-muted">{name}</span>
            <span className="min-w-0 flex-1 truncate">{now}</span>
            <Sparkline values={values} label={`${name} · ${w.environments.lastHour}`} width={160} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="text-sm">
      <h3 className="pb-2 font-medium">{title}</h3>
      {children}
    </section>
  );
}

function Facts({ rows, isMono }: { rows: readonly (readonly [string, ReactNode])[]; isMono?: boolean }) {
  return (
    <dl className="grid grid-cols-[96px_minmax(0,1fr)] items-center gap-x-4 gap-y-2 text-sm">
      {rows.map(([label, value]) => (
        <div key={label} className="contents">
          <dt className={isMono ? 'font-mono text-xs text-muted' : 'text-muted'}>{label}</dt>
          <dd className={isMono ? 'font-mono text-xs' : 'truncate'}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
