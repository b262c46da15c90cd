import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { commandLine } from '~/api/argv';
import { useNames } from '~/api/names';
import { datasetsQuery, environmentsQuery, modelsQuery } from '~/api/queries';
import type { Task } from '~/api/types';
import { useFrameworkName } from '~/api/useFrameworkName';
import { Card } from '~/ui/Card';
import { Copy } from '~/ui/Copy';
import { Badge } from '~/ui/Pill';
import { useWords } from '~/words';
import type { Words } from '~/words/zh';
import { askedFor } from '../../facts';

const SHOWN = 6;

/** The names of the first ones, and how many more there are. */
function Names({ names }: { names: readonly string[] }) {
  const { number } = useWords();
  return (
    <span title={names.join('\n')}>
      {names.slice(0, SHOWN).join(', ')}
      {names.length > SHOWN ? ` … +${number(names.length - SHOWN)}` : null}
    </span>
  );
}

/** Where the task is and how many processes it has; before that, what it asks for. */
function usePlaces(task: Task): { nodes: ReactNode; world: ReactNode } {
  const { w, number } = useWords();
  const isPlaced = task.worldSize > 0 && task.nodes.length > 0;
  const known = useQuery({ ...environmentsQuery(), enabled: !isPlaced, refetchInterval: false });
  if (isPlaced) return { nodes: <Names names={task.nodes.map(({ name }) => name)} />, world: number(task.worldSize) };
  const environmentOf = (id: string) => known.data?.items.find((environment) => environment.id === id);
  const { nodes, ranks } = askedFor(task.spec, (id) => environmentOf(id)?.workers.length);
  const names = task.environments.map((id) => environmentOf(id)?.name ?? id);
  return {
    nodes: names.length > 0 ? <Names names={names} /> : nodes > 0 ? w.task.wanted(number(nodes)) : null,
    world: ranks ? w.task.wanted(number(ranks)) : null,
  };
}

/** What the server was to pick; null where the environments were chosen. */
function asked(mode: Task['spec']['launchMode'], w: Words): string | null {
  if (typeof mode !== 'object' || !('auto' in mode)) return null;
  const { nodes = 1, gpusPerNode, workersPerNode, gpuType, zone, labels } = mode.auto;
  const each = w.task.askedEach(String(nodes), String(gpusPerNode ?? workersPerNode ?? 1), gpusPerNode != null);
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return [each, gpuType, zone, ...pairs].filter(Boolean).join(' · ');
}

/** What a preflight has found and set for the ranks of each node: once, where all have the same. */
function interfaces(nodes: Task['nodes']): string | null {
  const set = nodes.flatMap(({ name, interface: its }) => (its ? [{ name, its }] : []));
  const [first] = set;
  if (!first) return null;
  return set.every(({ its }) => its === first.its)
    ? first.its
    : set.map(({ name, its }) => `${name} ${its}`).join(', ');
}

/** What the task is, once and for all. */
export function Facts({ task }: { task: Task }) {
  const { w, date, number, duration } = useWords();
  const framework = useFrameworkName(task.framework ?? '');
  const { userName } = useNames();
  const places = usePlaces(task);
  const { spec } = task;
  const limit = spec.policies?.timeLimit;
  const labels = Object.entries(task.labels);
  const source = spec.source ? ('path' in spec.source ? spec.source.path : spec.source.snapshot.slice(0, 12)) : null;
  const rows: [string, ReactNode][] = [
    [w.task.command, <CommandLine key="command" task={task} />],
    [w.task.framework, task.framework ? framework : null],
    [w.task.nodes, places.nodes],
    [w.task.world, places.world],
    [w.task.master, task.nodes[0] ? `${task.nodes[0].name}${task.masterPort ? `:${task.masterPort}` : ''}` : null],
    [w.task.interface, interfaces(task.nodes)],
    [w.task.dataset, spec.dataset ? <DatasetLink key="dataset" {...spec.dataset} /> : null],
    [w.task.model, spec.modelId ? <ModelLink key="model" id={spec.modelId} /> : null],
    [w.task.source, source],
    [w.task.asked, asked(spec.launchMode, w)],
    [w.task.timeLimit, limit ? duration(limit * 1000) : null],
    [w.task.priority, task.priority === 0 ? null : number(task.priority)],
    [w.task.createdBy, task.createdBy ? userName(task.createdBy.name) : null],
    [w.task.createdAt, date(task.createdAt)],
    [w.task.startedAt, task.startedAt ? date(task.startedAt) : null],
    [w.task.endedAt, task.endedAt ? date(task.endedAt) : null],
    [
      w.task.labels,
      labels.length > 0 ? (
        <span key="labels" className="flex flex-wrap gap-1">
          {labels.map(([key, value]) => (
            <Badge key={key}>
              {key}={value}
            </Badge>
          ))}
        </span>
      ) : null,
    ],
  ];
  return (
    <Card title={w.task.facts}>
      <dl className="divide-y divide-line">
        {rows.map(([label, value]) =>
          value == null || value === '' ? null : (
            <div key={label} className="grid grid-cols-[88px_minmax(0,1fr)] gap-3 px-4 py-2 text-sm">
              <dt className="text-muted">{label}</dt>
              <dd className="min-w-0 break-words">{value}</dd>
            </div>
          ),
        )}
      </dl>
    </Card>
  );
}

type DatasetLinkProps = { datasetId: string; datasetVersionId?: string };

/** Its name; its id until that is known, or where it is gone. */
function DatasetLink({ datasetId, datasetVersionId }: DatasetLinkProps) {
  const datasets = useQuery(datasetsQuery());
  const dataset = datasets.data?.items.find(({ id }) => id === datasetId);
  const version = dataset?.versions.find(({ id }) => id === datasetVersionId);
  return (
    <Link to="/datasets" search={dataset ? { q: dataset.name } : {}} className="text-accent hover:underline">
      {[dataset?.name ?? datasetId, version?.version].filter(Boolean).join(' · ')}
    </Link>
  );
}

function ModelLink({ id }: { id: string }) {
  const models = useQuery(modelsQuery());
  const model = models.data?.items.find((one) => one.id === id);
  return (
    <Link to="/models" search={model ? { q: model.name } : {}} className="text-accent hover:underline">
      {model?.name ?? id}
    </Link>
  );
}

function CommandLine({ task }: { task: Task }) {
  const { w } = useWords();
  const { work } = task.spec;
  const text =
    work.kind === 'command'
      ? commandLine(work.argv)
      : work.kind === 'recipe'
        ? work.name
        : `${w.task.builtin} ${commandLine(work.args ?? [])}`;
  return (
    <span className="flex items-start gap-1">
      <code className="line-clamp-4 min-w-0 flex-1 font-mono text-xs leading-5 break-all" title={text}>
        {text}
      </code>
      <Copy text={text} className="-my-1" />
    </span>
  );
}
