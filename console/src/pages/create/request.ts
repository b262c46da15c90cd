import { argv } from '~/api/argv';
import type { CreateRequest } from '~/api/types';
import type { Form } from './form';
import { trainingOf } from './training';

/** Leaves out what says nothing, so that a request holds what was wanted and no more. */
function bare<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(value).filter(
      ([, one]) =>
        one !== undefined && one !== null && one !== '' && !(typeof one === 'object' && Object.keys(one).length === 0),
    ),
  ) as Partial<T>;
}

const number = (text: string) => (text.trim() === '' ? undefined : Number(text));

/** `NAME=VALUE` by lines; lines without a name say nothing. */
export function variablesOf(text: string): Record<string, string> {
  const pairs = text.split('\n').flatMap((line): [string, string][] => {
    const at = line.indexOf('=');
    return at > 0 ? [[line.slice(0, at).trim(), line.slice(at + 1)]] : [];
  });
  return Object.fromEntries(pairs);
}

function commandOf(form: Form): CreateRequest['command'] {
  if (form.work === 'recipe') return null;
  const words = argv(form.command) ?? [form.command];
  if (words.length === 0) return null;
  return bare({
    argv: words,
    workingDirectory: form.directory.trim(),
    env: variablesOf(form.variables),
    secrets: variablesOf(form.secrets),
    interpreter: form.interpreter.trim(),
  });
}

/** A recipe by its training.yaml, or by the one that every node has where a cloned task named it. */
function recipeOf(form: Form): CreateRequest['recipe'] {
  const { recipe: kept } = form.kept;
  if (form.work !== 'recipe') return kept?.name === 'builtin' ? kept : null;
  return bare({
    name: form.recipe,
    config: form.training.trim() === '' ? kept?.config : null,
    args: argv(form.recipeArgs) ?? [form.recipeArgs],
    workingDirectory: form.directory.trim(),
    env: variablesOf(form.variables),
    interpreter: form.interpreter.trim(),
  });
}

function strategyOf(form: Form) {
  const given = bare({
    dataParallel: number(form.dataParallel),
    pipelineParallel: number(form.pipelineParallel),
    tensorParallel: number(form.tensorParallel),
  });
  return Object.keys(given).length > 0 ? given : undefined;
}

/** `KEY=VALUE` with spaces or commas between them. */
function labelsOf(text: string): Record<string, string> {
  return variablesOf(text.split(/[\s,，]+/).join('\n'));
}

/** Where the workers come from: those that were chosen, or what the server shall pick. */
function launchModeOf({ mode, auto }: Form): CreateRequest['launchMode'] {
  if (mode !== 'auto') return 'existing';
  const perNode = number(auto.perNode) ?? 1;
  const wanted = {
    nodes: number(auto.nodes) ?? 1,
    ...(auto.unit === 'gpus' ? { gpusPerNode: perNode } : { workersPerNode: perNode }),
    gpuType: auto.gpuType,
    zone: auto.zone,
    labels: labelsOf(auto.labels),
  };
  return { auto: bare(wanted) };
}

/** The body of `POST /training-tasks`. */
export function requestOf(form: Form): CreateRequest {
  const { options, policies, labels, source, workers } = form.kept;
  const nodeIds = form.mode === 'auto' ? [] : form.nodeIds;
  const isDistributed = nodeIds.length > 1;
  const command = commandOf(form);
  const settings = bare({
    ...options?.framework,
    zeroStage: number(form.zeroStage),
    microBatchSize: number(form.microBatchSize),
  });
  const restarts = number(form.maxRestarts);
  const hours = number(form.timeLimit);
  return bare({
    taskName: form.taskName.trim(),
    datasetId: form.datasetId,
    datasetVersionId: form.datasetVersionId,
    modelId: form.modelId,
    launchMode: launchModeOf(form),
    distributedConfig: bare({
      enabled: isDistributed ? true : undefined,
      nodeIds,
      masterNode: isDistributed ? form.masterNode : undefined,
      framework: form.framework,
      strategy: strategyOf(form),
      workers: bare(Object.fromEntries(Object.entries(workers ?? {}).filter(([id]) => nodeIds.includes(id)))),
    }),
    command,
    recipe: command ? null : recipeOf(form),
    source: source ?? null,
    options: bare({
      ...options,
      ...(form.work === 'recipe' ? { training: trainingOf(form.training).settings } : {}),
      checkpointDir: form.checkpointDir.trim(),
      framework: settings as Record<string, never>,
    }),
    policies: bare({
      ...policies,
      ...(restarts === undefined ? {} : { restart: { maxRestarts: restarts } }),
      timeLimit: hours === undefined ? undefined : Math.round(hours * 3600),
      preemptible: form.preemptible ? undefined : false,
    }),
    priority: number(form.priority),
    labels: labels ?? {},
  }) as CreateRequest;
}

/**
 * The same to be looked at before it is complete: a name and a command stand in where there are none yet, so that what
 * can be said of the environments is said. Null where none is chosen.
 */
export function previewOf(form: Form): CreateRequest | null {
  if (form.mode !== 'auto' && form.nodeIds.length === 0) return null;
  const request = requestOf(form);
  const isOwn = request.command || form.work === 'recipe';
  const isWithout = !isOwn && !(request.datasetId && request.datasetVersionId);
  const { recipe: _, ...rest } = request;
  return {
    ...(isWithout ? { ...rest, command: { argv: ['train.py'] } } : request),
    taskName: request.taskName || 'preview',
  };
}
