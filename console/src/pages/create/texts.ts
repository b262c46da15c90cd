import { commandLine, quoted } from '~/api/argv';
import type { CreateRequest } from '~/api/types';

const PLAIN = /^[\p{L}_/][\p{L}\p{N}_./@+-]*$/u;
const WORDS = /^(true|false|null|yes|no|on|off|y|n)$/i;

function scalar(value: unknown): string {
  if (typeof value !== 'string') return String(value);
  return PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value);
}

/** A request as YAML: the same names as in JSON. */
export function yamlOf(value: unknown, depth = 0): string {
  const pad = '  '.repeat(depth);
  if (Array.isArray(value)) {
    return value
      .map((one) => `${pad}- ${typeof one === 'object' ? yamlOf(one, depth + 1).trimStart() : scalar(one)}`)
      .join('\n');
  }
  return Object.entries(value as object)
    .map(([key, one]) => {
      const isDeep = typeof one === 'object' && one !== null && Object.keys(one).length > 0;
      if (!isDeep)
        return `${pad}${scalar(key)}: ${typeof one === 'object' && one !== null ? (Array.isArray(one) ? '[]' : '{}') : scalar(one)}`;
      return `${pad}${scalar(key)}:\n${yamlOf(one, depth + 1)}`;
    })
    .join('\n');
}

/** A request for the API, to be pasted into a shell that has a token. Sent again it is granted once, by its key. */
export function curlOf(request: CreateRequest, server: string, key: string): string {
  return [
    `curl -sS ${quoted(`${server}/api/v1/training-tasks`)}`,
    '-H "Authorization: Bearer $FERMI_TOKEN"',
    `-H ${quoted(`Idempotency-Key: ${key}`)}`,
    "-H 'Content-Type: application/json'",
    `-d ${quoted(JSON.stringify(request, null, 2))}`,
  ].join(' \\\n  ');
}

const FILE = 'training.yaml';

type Flags = (string | readonly [string, string | number | null | undefined])[];

function autoFlags(mode: CreateRequest['launchMode']): Flags {
  if (typeof mode !== 'object' || !('auto' in mode)) return [];
  const { nodes, gpusPerNode, workersPerNode, gpuType, zone, labels } = mode.auto;
  return [
    '--auto',
    ['--nodes', nodes],
    ['--gpus-per-node', gpusPerNode],
    ['--workers-per-node', workersPerNode],
    ['--gpu-type', gpuType],
    ['--zone', zone],
    ...Object.entries(labels ?? {}).map(([key, value]) => ['--node-label', `${key}=${value}`] as const),
  ];
}

/** The same task by the command line. */
export function cliOf(request: CreateRequest, server: string, nameOf: (id: string) => string): string {
  const { distributedConfig: nodes = {}, command, recipe, options = {}, policies, source } = request;
  const settings = Object.entries((options.framework ?? {}) as Record<string, unknown>);
  const flags: Flags = [
    ['--server', server],
    ['--name', request.taskName || '<NAME>'],
    ...autoFlags(request.launchMode),
    ...(nodes.nodeIds ?? []).map((id) => ['--env', nameOf(id)] as const),
    ['--master', nodes.masterNode ? nameOf(nodes.masterNode) : null],
    ...Object.entries(nodes.workers ?? {}).map(
      ([id, list]) => ['--workers', `${nameOf(id)}=${list.join(',')}`] as const,
    ),
    ['--framework', nodes.framework],
    ['--dataset', request.datasetId],
    ['--dataset-version', request.datasetVersionId],
    ['--model', request.modelId],
    ['--data-parallel', nodes.strategy?.dataParallel],
    ['--pipeline-parallel', nodes.strategy?.pipelineParallel],
    ['--tensor-parallel', nodes.strategy?.tensorParallel],
    ...settings.map(
      ([key, value]) => ['--set', `${key}=${typeof value === 'object' ? JSON.stringify(value) : value}`] as const,
    ),
    ['--backend', options.backend],
    ['--interface', options.interface],
    ['--timeout', options.timeout],
    ['--nccl-debug', options.ncclDebug],
    ...(options.infiniband === false ? ['--no-infiniband'] : []),
    ['--port', options.masterPort],
    ['--checkpoint-dir', options.checkpointDir],
    ['--max-restarts', policies?.restart?.maxRestarts],
    ['--node-lost-after', policies?.nodeLostAfter],
    ['--start-timeout', policies?.startTimeout],
    ['--time-limit', policies?.timeLimit == null ? null : `${policies.timeLimit}s`],
    ...(policies?.preemptible === false ? ['--not-preemptible'] : []),
    ['--source-path', source && 'path' in source ? source.path : null],
    ['--workdir', (command ?? recipe)?.workingDirectory],
    ['--interpreter', (command ?? recipe)?.interpreter],
    ...Object.entries((command ?? recipe)?.env ?? {}).map(
      ([name, value]) => ['--env-var', `${name}=${value}`] as const,
    ),
    ...Object.entries(command?.secrets ?? {}).map(([variable, name]) => ['--secret', `${variable}=${name}`] as const),
    ...Object.entries(request.labels ?? {}).map(([key, value]) => ['--label', `${key}=${value}`] as const),
    ['--priority', request.priority],
    ...(recipe?.name === 'builtin' ? ['--builtin'] : [['--recipe', recipe?.name] as const]),
    ['--config', recipe?.config ?? (options.training ? FILE : null)],
  ];
  const said = flags.flatMap((flag) => {
    if (typeof flag === 'string') return [flag];
    const [name, value] = flag;
    return value === null || value === undefined || value === '' ? [] : [`${name} ${quoted(String(value))}`];
  });
  const words = command?.argv ?? recipe?.args ?? [];
  const behind = words.length > 0 ? [`-- ${commandLine(words)}`] : [];
  // The file is written where the command runs.
  const file = options.training ? `cat > ${FILE} <<'END'\n${yamlOf(options.training)}\nEND\n` : '';
  return file + ['fermi task create', ...said, ...behind].join(' \\\n  ');
}
