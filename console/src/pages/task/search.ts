import { text } from '~/filters/address';
import type { LogSearchState } from '~/logs/LogView';

export const TABS = ['overview', 'logs', 'metrics', 'events', 'ranks', 'launch', 'diagnosis'] as const;
export type TabName = (typeof TABS)[number];

const STREAMS = ['stdout', 'stderr', 'hang'] as const;

/** What the address of this page holds behind the question mark. */
export type TaskSearch = LogSearchState & {
  tab?: TabName;
  x?: 'step';
  rank?: number;
  kind?: string;
  launch?: 'planned';
};

const whole = (value: unknown): number | undefined => {
  const found = Number(text(value));
  return Number.isInteger(found) && found >= 0 ? found : undefined;
};

/** Without an attempt that is beyond the newest one; which that was is said. Before the first start there is none to choose. */
export function withinAttempts(search: TaskSearch, newest: number): { search: TaskSearch; missing: number | null } {
  const { attempt, ...others } = search;
  if (attempt === undefined || attempt <= newest) return { search, missing: null };
  return { search: others, missing: newest > 0 ? attempt : null };
}

export function readSearch(search: Record<string, unknown>): TaskSearch {
  const tab = TABS.find((name) => name === search.tab);
  const all: { [Key in keyof TaskSearch]: TaskSearch[Key] | undefined } = {
    tab: tab === 'overview' ? undefined : tab,
    ranks: text(search.ranks),
    q: text(search.q),
    line: text(search.line),
    stream: STREAMS.find((stream) => stream === search.stream),
    attempt: whole(search.attempt) || undefined,
    wrap: search.wrap === true || search.wrap === 'true' || undefined,
    x: search.x === 'step' ? 'step' : undefined,
    rank: whole(search.rank),
    kind: text(search.kind),
    launch: search.launch === 'planned' ? 'planned' : undefined,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as TaskSearch;
}
