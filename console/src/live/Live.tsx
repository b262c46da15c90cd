import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { lookAgain } from '~/api/queries';
import type { Event } from '~/api/types';
import { apply } from './apply';
import type { StreamState } from './stream';
import { listen } from './tabs';

const State = createContext<StreamState>('waiting');

/** Whether what is shown is live. */
export const useLiveState = () => useContext(State);

/** Bursts become one update. */
const PACE = 150;
/** Long lists, which cost more, wait for more to happen. */
const SLOW_PACE = 3_000;
/** So long after the stream first spoke everything is looked at once more. */
const SETTLE = 1_500;
/** How often one asks when the stream stays silent. */
const POLL = 5_000;

export function Live({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [state, setState] = useState<StreamState>('waiting');

  useEffect(() => {
    let waiting: Event[] = [];
    const slow = new Map<string, QueryKey>();
    let slowDue: ReturnType<typeof setTimeout> | null = null;
    let due: ReturnType<typeof setTimeout> | null = null;
    let settle: ReturnType<typeof setTimeout> | null = null;
    let wasLive = false;
    const flush = () => {
      due = null;
      const events = waiting;
      waiting = [];
      for (const key of apply(client, events)) slow.set(JSON.stringify(key), key);
      if (slow.size > 0) slowDue ??= setTimeout(flushSlow, SLOW_PACE);
    };
    const flushSlow = () => {
      slowDue = null;
      for (const queryKey of slow.values()) void client.invalidateQueries({ queryKey });
      slow.clear();
    };
    const stop = listen(
      ({ events, reset }) => {
        if (reset) void lookAgain(client);
        waiting.push(...events);
        if (events.length > 0) due ??= setTimeout(flush, PACE);
      },
      (next) => {
        setState(next);
        if (next !== 'live') return;
        // What happened while the stream was away is not told by tabs that were asleep: ask once. What was loaded while
        // it was first opened may be a moment older than its beginning: ask when the page stands.
        if (wasLive) void lookAgain(client);
        else settle = setTimeout(() => void lookAgain(client), SETTLE);
        wasLive = true;
      },
    );
    return () => {
      stop();
      for (const timer of [due, slowDue, settle]) if (timer) clearTimeout(timer);
    };
  }, [client]);

  useEffect(() => {
    if (state !== 'mute') return;
    const timer = setInterval(() => {
      if (!document.hidden) void lookAgain(client);
    }, POLL);
    return () => clearInterval(timer);
  }, [client, state]);

  return <State value={state}>{children}</State>;
}
