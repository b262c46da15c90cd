import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { ask } from './client';
import { keys } from './queries';
import type { AllowedAction, Page, TaskPhase, Text } from './types';

export type Backend = 'nccl' | 'gloo' | 'mpi';

export type GroupConfig = {
  masterAddr: string | null;
  worldSize: number | null;
  masterPort: number;
  backend: Backend;
};

export type Check = {
  id: string;
  state: 'passed' | 'warning' | 'failed' | 'unknown';
  text: Text;
  hint: Text | null;
};

export type Group = {
  id: string;
  name: string;
  /** The one of the workers that are in no other. */
  isDefault: boolean;
  config: GroupConfig;
  workers: string[];
  worldSize: number | null;
  standby: number;
  tasks: { id: string; name: string; status: TaskPhase; statusText: Text }[];
  checks: Check[];
  version: number;
  /** None of the one that is no group. */
  allowedActions: AllowedAction[];
};

export type WorkerStatus = 'free' | 'busy' | 'suspect' | 'offline' | 'drained' | 'lost' | 'missing';

export type WorkerRow = {
  id: string;
  environment: string;
  index: number;
  gpu: number | null;
  gpuType: string | null;
  zone: string | null;
  groupId: string;
  groupName: string;
  status: WorkerStatus;
  statusText: Text;
  taskId: string | null;
};

export type GroupRank = {
  worker: string;
  node: string;
  rank: number | null;
  localRank: number | null;
  nodeRank: number | null;
  worldSize: number | null;
  gpu: number | null;
  standby: boolean;
  status: WorkerStatus;
  statusText: Text;
};

export type GroupRanks = {
  masterAddr: string | null;
  masterPort: number;
  backend: Backend;
  worldSize: number | null;
  nodeCount: number;
  rows: GroupRank[];
  problem: { id: string; text: Text; hint: Text | null } | null;
};

const GROUPS = '/api/v1/groups';
const at = (id: string, verb = '') => `${GROUPS}/${encodeURIComponent(id)}${verb}`;

export const groupsQuery = () =>
  queryOptions({
    queryKey: [...keys.groups, 'list'],
    queryFn: () => ask<Page<Group>>('GET', `${GROUPS}?pageSize=1000`),
    refetchInterval: 10_000,
  });

export const workersQuery = (filter?: string) =>
  queryOptions({
    queryKey: [...keys.groups, 'workers', filter ?? ''],
    queryFn: () =>
      ask<Page<WorkerRow>>(
        'GET',
        `/api/v1/workers?pageSize=1000${filter ? `&filter=${encodeURIComponent(filter)}` : ''}`,
      ),
    placeholderData: keepPreviousData,
    refetchInterval: 5_000,
  });

export const groupRanksQuery = (id: string) =>
  queryOptions({
    queryKey: [...keys.groups, id, 'ranks'],
    queryFn: () => ask<GroupRanks>('GET', at(id, '/ranks')),
    placeholderData: keepPreviousData,
    refetchInterval: 5_000,
  });

export type StartGroup = {
  command?: { argv: string[]; workingDirectory?: string };
  taskName?: string;
  framework?: string;
  datasetId?: string;
  datasetVersionId?: string;
};

export const groupCalls = {
  create: (body: { name: string; workers: string[] }) => ask<Group>('POST', GROUPS, body),
  change: (
    id: string,
    body: { name?: string; config?: Partial<Record<keyof GroupConfig, unknown>>; version?: number },
  ) => ask<Group>('PATCH', at(id), body),
  delete: (id: string) => ask<unknown>('DELETE', at(id)),
  move: (id: string, workers: string[]) => ask<{ moved: number }>('POST', at(id, '/workers'), { workers }),
  check: (id: string) => ask<Page<Check>>('POST', at(id, '/check')),
  start: (id: string, body: StartGroup) => ask<{ taskId: string; description: string }>('POST', at(id, '/start'), body),
  stop: (id: string) => ask<{ succeeded: number; failed: number }>('POST', at(id, '/stop'), {}),
};
