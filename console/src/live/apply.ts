import type { QueryClient, QueryKey } from '@tanstack/react-query';
import { keys } from '~/api/queries';
import type { Event, Overview } from '~/api/types';

/** Which of the things the cache holds an event has changed. */
export function touched(event: Pick<Event, 'kind' | 'taskId' | 'environmentId'>): QueryKey[] {
  const subject = event.kind.split('.')[0];
  const found: QueryKey[] = [keys.overview, keys.events];
  if (event.taskId) found.push(keys.task(event.taskId));
  if (event.environmentId) found.push(keys.environment(event.environmentId));
  switch (subject) {
    case 'task':
      found.push(keys.tasks, keys.environments, keys.groups);
      break;
    case 'attempt':
    case 'rank':
      found.push(keys.tasks);
      break;
    case 'environment':
    case 'agent':
      found.push(keys.environments, keys.groups);
      break;
    case 'group':
      found.push(keys.groups);
      break;
    case 'preflight':
      found.push(keys.preflights);
      break;
    case 'dataset':
      found.push(keys.datasets);
      break;
    case 'model':
      found.push(keys.models);
      break;
    case 'user':
      found.push(keys.users, keys.tokens);
      break;
    case 'secret':
      found.push(keys.secrets);
      break;
    case 'webhook':
      found.push(keys.webhooks);
      break;
    case 'token':
      found.push(keys.tokens);
      break;
  }
  return found;
}

/** The keys of many events, each once. */
export function touchedByAll(events: Parameters<typeof touched>[0][]): QueryKey[] {
  const found = new Map<string, QueryKey>();
  for (const key of events.flatMap(touched)) found.set(JSON.stringify(key), key);
  return [...found.values()];
}

const SHOWN = 20;

/** New events come first and are shown at once, without asking. */
export function withEvents(overview: Overview | undefined, events: Event[]): Overview | undefined {
  if (!overview) return overview;
  const known = new Set(overview.events.map((event) => event.cursor));
  const fresh = events.filter((event) => !known.has(event.cursor)).reverse();
  return fresh.length === 0 ? overview : { ...overview, events: [...fresh, ...overview.events].slice(0, SHOWN) };
}

const LONG = 200;

/** Whether what stands under a key is a list of hundreds, such as all environments. */
function isLong(client: QueryClient, queryKey: QueryKey): boolean {
  const held = client.getQueriesData<{ items?: unknown[] }>({ queryKey });
  return held.some(([, data]) => (data?.items?.length ?? 0) > LONG);
}

/** Brings the cache up to date; returns the keys of long lists, for which one should not ask with each event. */
export function apply(client: QueryClient, events: Event[]): QueryKey[] {
  client.setQueryData<Overview>(keys.overview, (overview) => withEvents(overview, events));
  const [slow, quick] = [true, false].map((wanted) =>
    touchedByAll(events).filter((queryKey) => isLong(client, queryKey) === wanted),
  ) as [QueryKey[], QueryKey[]];
  for (const queryKey of quick) void client.invalidateQueries({ queryKey });
  return slow;
}
