import type { Words } from '../src/words/zh';

export type ShownPage = { name: string; path: string; title: (w: Words) => string };

/** Every page, with the heading by which one knows it. The task's is its name. */
export const PAGES: ShownPage[] = [
  { name: 'overview', path: '/', title: (w) => w.overview.title },
  { name: 'training', path: '/training', title: (w) => w.training.title },
  { name: 'create', path: '/training/create', title: (w) => w.create.title },
  { name: 'environments', path: '/environments', title: (w) => w.environments.title },
  { name: 'groups', path: '/groups', title: (w) => w.groups.title },
  { name: 'planner', path: '/planner?model=model-001&env=env-004,env-005', title: (w) => w.planner.title },
  { name: 'preflight', path: '/preflight?env=env-001,env-004', title: (w) => w.preflight.title },
  { name: 'datasets', path: '/datasets', title: (w) => w.datasets.title },
  { name: 'models', path: '/models', title: (w) => w.models.title },
  { name: 'settings', path: '/settings', title: (w) => w.settings.title },
];
/** Pages of tasks, whose heading is their name: one runs, one waits for it, one has failed. */
export const TASK_PATH = '/training/task-2';
export const WAITING_PATH = '/training/task-3';
export const FAILED_PATH = '/training/task-4';
