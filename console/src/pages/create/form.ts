import { commandLine } from '~/api/argv';
import type { AutoSelection, CreateRequest, Task } from '~/api/types';
import type { Mode } from './modes';
import { type Selection, withMaster } from './selection';
import { RECIPES, type RecipeName, yamlOfTraining } from './training';

/** What the server shall pick from. Labels are `KEY=VALUE` with spaces or commas between them. */
export type AutoForm = {
  nodes: string;
  perNode: string;
  unit: 'gpus' | 'workers';
  gpuType: string;
  zone: string;
  labels: string;
};

/** Numbers are kept as they are typed; an empty one is not sent. */
export type Form = Selection & {
  mode: Mode;
  auto: AutoForm;
  taskName: string;
  datasetId: string | null;
  datasetVersionId: string | null;
  modelId: string | null;
  framework: string;
  dataParallel: string;
  pipelineParallel: string;
  tensorParallel: string;
  zeroStage: string;
  microBatchSize: string;
  work: 'command' | 'recipe';
  command: string;
  recipe: RecipeName;
  /** The text of a training.yaml. */
  training: string;
  recipeArgs: string;
  directory: string;
  interpreter: string;
  /** One `NAME=VALUE` a line. */
  variables: string;
  /** One `VARIABLE=SECRET` a line; the secrets are named, not held. */
  secrets: string;
  maxRestarts: string;
  priority: string;
  /** In hours. */
  timeLimit: string;
  preemptible: boolean;
  checkpointDir: string;
  /** What a task that is cloned has and this form does not show. */
  kept: Pick<CreateRequest, 'options' | 'policies' | 'labels' | 'source' | 'recipe'> & {
    workers?: Record<string, number[]>;
  };
};

export const EMPTY: Form = {
  mode: 'existing',
  auto: { nodes: '1', perNode: '1', unit: 'gpus', gpuType: '', zone: '', labels: '' },
  taskName: '',
  datasetId: null,
  datasetVersionId: null,
  modelId: null,
  nodeIds: [],
  masterNode: null,
  framework: 'pytorch-ddp',
  dataParallel: '',
  pipelineParallel: '',
  tensorParallel: '',
  zeroStage: '',
  microBatchSize: '',
  work: 'command',
  command: '',
  recipe: 'sft',
  training: '',
  recipeArgs: '',
  directory: '',
  interpreter: '',
  variables: '',
  secrets: '',
  maxRestarts: '',
  priority: '',
  timeLimit: '',
  preemptible: true,
  checkpointDir: '',
  kept: {},
};

const lines = (pairs: Record<string, string> | undefined) =>
  Object.entries(pairs ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');

const text = (value: unknown) => (value === null || value === undefined ? '' : String(value));

function autoOf(asked: AutoSelection): AutoForm {
  const { nodes, gpusPerNode, workersPerNode, gpuType, zone, labels } = asked;
  return {
    nodes: text(nodes ?? 1),
    perNode: text(gpusPerNode ?? workersPerNode ?? 1),
    unit: gpusPerNode == null ? 'workers' : 'gpus',
    gpuType: text(gpuType),
    zone: text(zone),
    labels: Object.entries(labels ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .join(' '),
  };
}

/** The form of a task like this one, under a name of its own. */
export function formOf({ spec }: Pick<Task, 'spec'>): Form {
  const { work, distributed, options, policies } = spec;
  const { checkpointDir, framework: settings = {}, training, ...otherOptions } = options ?? {};
  const { zeroStage, microBatchSize, ...otherSettings } = settings as Record<string, unknown>;
  const { restart, timeLimit, preemptible, ...otherPolicies } = policies ?? {};
  const { launchMode } = spec;
  const asked = typeof launchMode === 'object' && 'auto' in launchMode ? launchMode.auto : null;
  // The document of the API has another shape under the same name.
  const dataset = spec.dataset as { datasetId: string; datasetVersionId: string } | null | undefined;
  const command = work.kind === 'command' ? work : null;
  const recipe = work.kind === 'recipe' ? work : null;
  const launched = command ?? recipe;
  return {
    ...EMPTY,
    ...(asked ? { mode: 'auto' as const, auto: autoOf(asked) } : {}),
    ...withMaster([...distributed.nodeIds], distributed.masterNode ?? null),
    taskName: `${spec.name}-copy`,
    datasetId: dataset?.datasetId ?? null,
    datasetVersionId: dataset?.datasetVersionId ?? null,
    modelId: spec.modelId ?? null,
    framework: distributed.framework ?? EMPTY.framework,
    dataParallel: text(distributed.strategy?.dataParallel),
    pipelineParallel: text(distributed.strategy?.pipelineParallel),
    tensorParallel: text(distributed.strategy?.tensorParallel),
    zeroStage: text(zeroStage),
    microBatchSize: text(microBatchSize),
    work: recipe ? 'recipe' : 'command',
    command: command ? commandLine(command.argv) : '',
    recipe: RECIPES.find((one) => one === recipe?.name) ?? EMPTY.recipe,
    training: recipe ? yamlOfTraining(training) : '',
    recipeArgs: recipe ? commandLine(recipe.args ?? []) : '',
    directory: text(launched?.directory),
    interpreter: text(launched?.interpreter),
    variables: lines(launched?.env),
    secrets: lines(command?.secrets),
    maxRestarts: restart?.maxRestarts ? String(restart.maxRestarts) : '',
    priority: spec.priority ? String(spec.priority) : '',
    timeLimit: timeLimit ? String(Number((timeLimit / 3600).toFixed(3))) : '',
    preemptible: preemptible ?? true,
    checkpointDir: text(checkpointDir),
    kept: {
      options: {
        ...otherOptions,
        ...(recipe ? {} : { training: training ?? null }),
        framework: otherSettings as Record<string, never>,
      },
      policies: otherPolicies,
      labels: spec.labels ?? {},
      source: spec.source ?? null,
      ...(work.kind === 'builtin' ? { recipe: { name: 'builtin', args: work.args ?? [] } } : {}),
      ...(recipe?.config ? { recipe: { name: recipe.name, config: recipe.config } } : {}),
      ...(Object.keys(distributed.workers ?? {}).length > 0 ? { workers: distributed.workers ?? {} } : {}),
    },
  };
}
