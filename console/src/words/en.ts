// English, in the shape of zh.ts: what is missing does not compile.

import { common } from './en/common';
import { create } from './en/create';
import { datasets } from './en/datasets';
import { environments } from './en/environments';
import { groups } from './en/groups';
import { logs } from './en/logs';
import { models } from './en/models';
import { overview } from './en/overview';
import { planner } from './en/planner';
import { preflight } from './en/preflight';
import { settings } from './en/settings';
import { shell } from './en/shell';
import { task } from './en/task';
import { training } from './en/training';
import type { Words } from './zh';

export const en: Words = {
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
