// Table of contents: path, page, and what its search parameters mean.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { PREFIX } from './api/base';
import { strictly } from './filters/address';
import { readSearch as readCreate } from './pages/create/search';
import { readSearch as readDatasets } from './pages/datasets/search';
import { readSearch as readEnvironments } from './pages/environments/search';
import { readSearch as readGroups } from './pages/groups/search';
import { readSearch as readModels } from './pages/models/search';
import { readSearch as readPlanner } from './pages/planner/search';
import { readSearch as readPreflight } from './pages/preflight/search';
import { readSearch as readSettings } from './pages/settings/search';
import { readSearch as readTask } from './pages/task/search';
import { readSearch as readTraining } from './pages/training/search';
import { Crashed } from './shell/Crashed';
import { Layout } from './shell/Layout';
import { NotFound } from './shell/NotFound';

const root = createRootRoute({ component: Layout, notFoundComponent: NotFound, errorComponent: Crashed });
const parent = { getParentRoute: () => root };

const overview = createRoute({
  ...parent,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/overview/Page'), 'Page'),
});
const create = createRoute({
  ...parent,
  path: '/training/create',
  validateSearch: strictly(readCreate),
  component: lazyRouteComponent(() => import('./pages/create/Page'), 'Page'),
});
const training = createRoute({
  ...parent,
  path: '/training',
  validateSearch: strictly(readTraining),
  component: lazyRouteComponent(() => import('./pages/training/Page'), 'Page'),
});
const task = createRoute({
  ...parent,
  path: '/training/$id',
  validateSearch: strictly(readTask),
  component: lazyRouteComponent(() => import('./pages/task/Page'), 'Page'),
});
const environments = createRoute({
  ...parent,
  path: '/environments',
  validateSearch: strictly(readEnvironments),
  component: lazyRouteComponent(() => import('./pages/environments/Page'), 'Page'),
});
const groups = createRoute({
  ...parent,
  path: '/groups',
  validateSearch: strictly(readGroups),
  component: lazyRouteComponent(() => import('./pages/groups/Page'), 'Page'),
});
const planner = createRoute({
  ...parent,
  path: '/planner',
  validateSearch: strictly(readPlanner),
  component: lazyRouteComponent(() => import('./pages/planner/Page'), 'Page'),
});
const preflight = createRoute({
  ...parent,
  path: '/preflight',
  validateSearch: strictly(readPreflight),
  component: lazyRouteComponent(() => import('./pages/preflight/Page'), 'Page'),
});
const datasets = createRoute({
  ...parent,
  path: '/datasets',
  validateSearch: strictly(readDatasets),
  component: lazyRouteComponent(() => import('./pages/datasets/Page'), 'Page'),
});
const models = createRoute({
  ...parent,
  path: '/models',
  validateSearch: strictly(readModels),
  component: lazyRouteComponent(() => import('./pages/models/Page'), 'Page'),
});
const settings = createRoute({
  ...parent,
  path: '/settings',
  validateSearch: strictly(readSettings),
  component: lazyRouteComponent(() => import('./pages/settings/Page'), 'Page'),
});

const tree = root.addChildren([
  overview,
  create,
  training,
  task,
  environments,
  groups,
  planner,
  preflight,
  datasets,
  models,
  settings,
]);

export const router = createRouter({
  routeTree: tree,
  basepath: PREFIX || '/',
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
