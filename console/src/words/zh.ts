// The source of all words. Each area has a file of its own in zh/ and, with the same shape, in en/.
import { common } from './zh/common';
import { create } from './zh/create';
import { datasets } from './zh/datasets';
import { environments } from './zh/environments';
import { groups } from './zh/groups';
import { logs } from './zh/logs';
import { models } from './zh/models';
import { overview } from './zh/overview';
import { planner } from './zh/planner';
import { preflight } from './zh/preflight';
import { settings } from './zh/settings';
import { shell } from './zh/shell';
import { task } from './zh/task';
import { training } from './zh/training';

export const zh = {
  common,
  create,
  datasets,
  environments,
  groups,
  logs,
  models,
  overview,
  planner,
  preflight,
  settings,
  shell,
  task,
  training,
};

export type Words = typeof zh;
