import type { components } from './schema';

type Schemas = components['schemas'];

export type Text = Schemas['Text'];
export type Task = Schemas['Task'];
export type TaskRow = Schemas['TaskRow'];
export type TaskPhase = Schemas['TaskPhase'];
export type Progress = Schemas['Progress'];
export type AllowedAction = Schemas['AllowedAction'];
export type Action = Schemas['Action'];
export type Environment = Schemas['Environment'];
export type EnvironmentStatus = Schemas['EnvironmentStatus'];
export type Worker = Schemas['Worker'];
export type Event = Schemas['Event'];
export type Overview = Schemas['Overview'];
export type Dataset = Schemas['Dataset'];
export type Model = Schemas['Model'];
export type FrameworkCard = Schemas['FrameworkCard'];
export type ServerStatus = Schemas['ServerStatus'];
export type Rank = Schemas['Rank'];
export type Launch = Schemas['Launch'];
export type Explanation = Schemas['Explanation'];
export type Series = Schemas['Series'];
export type Metrics = Schemas['Metrics'];
export type LogChunk = Schemas['LogChunk'];
export type LogMatch = Schemas['LogMatch'];
export type CreateRequest = Schemas['CreateRequest'];
export type AutoSelection = Schemas['AutoSelection'];
export type Preview = Schemas['Preview'];
export type Warning = Schemas['Warning'];
export type User = Schemas['User'];
export type Token = Schemas['Token'];
export type Verdict = Schemas['Verdict'];

export type Page<T> = { items: T[]; nextPageToken?: string | null; total?: number | null };
