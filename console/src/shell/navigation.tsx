import type { ComponentType, SVGProps } from 'react';
import {
  CheckListIcon,
  CubeIcon,
  DatabaseIcon,
  GearIcon,
  GroupIcon,
  HomeIcon,
  PlannerIcon,
  PlusIcon,
  ServerIcon,
  TasksIcon,
} from '~/ui/icons';
import type { Words } from '~/words';

type PagePath =
  | '/'
  | '/training'
  | '/training/create'
  | '/environments'
  | '/groups'
  | '/planner'
  | '/preflight'
  | '/datasets'
  | '/models'
  | '/settings';

type Destination = {
  to: PagePath;
  label: (w: Words) => string;
  icon: ComponentType<SVGProps<SVGSVGElement>>;
  /** Pressed after `g`. */
  key: string;
};

export type Section = { label: ((w: Words) => string) | null; pages: Destination[] };

export const SECTIONS: Section[] = [
  { label: null, pages: [{ to: '/', label: (w) => w.shell.overview, icon: HomeIcon, key: 'o' }] },
  {
    label: (w) => w.shell.sectionRun,
    pages: [
      { to: '/training', label: (w) => w.shell.training, icon: TasksIcon, key: 't' },
      { to: '/training/create', label: (w) => w.shell.create, icon: PlusIcon, key: 'c' },
    ],
  },
  {
    label: (w) => w.shell.sectionCluster,
    pages: [
      { to: '/environments', label: (w) => w.shell.environments, icon: ServerIcon, key: 'e' },
      { to: '/groups', label: (w) => w.shell.groups, icon: GroupIcon, key: 'g' },
    ],
  },
  {
    label: (w) => w.shell.sectionTools,
    pages: [
      { to: '/planner', label: (w) => w.shell.planner, icon: PlannerIcon, key: 'p' },
      { to: '/preflight', label: (w) => w.shell.preflight, icon: CheckListIcon, key: 'f' },
    ],
  },
  {
    label: (w) => w.shell.sectionAssets,
    pages: [
      { to: '/datasets', label: (w) => w.shell.datasets, icon: DatabaseIcon, key: 'd' },
      { to: '/models', label: (w) => w.shell.models, icon: CubeIcon, key: 'm' },
    ],
  },
  { label: null, pages: [{ to: '/settings', label: (w) => w.shell.settings, icon: GearIcon, key: 's' }] },
];

export const DESTINATIONS = SECTIONS.flatMap((section) => section.pages);
