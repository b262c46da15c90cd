import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import type { Event } from '~/api/types';
import { apply } from './apply';
import type { StreamState } from './stream';
import { listen } from './tabs';

const State = createContext<StreamState>('waiting');

/** Whether what is shown is live. */
export const useLiveState = () => useContext(State);

/** Bursts become one update. */
const PACE = 150;
/** How often one asks when the stream stays silent. */
const POLL = 5_000;

export function Live({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [state, setState] = useState<StreamState>('waiting');

  useEffect(() => {
    let waiting: Event[] = [];
    let due: ReturnType<typeof setTimeout> | null = null;
    let wasLive = false;
    const flush = () => {
      due = null;
      const events = waiting;
      waiting = [];
      apply(client, events);
    };
    const stop = listen(
      ({ events, reset }) => {
        if (reset) void client.invalidateQueries();
        waiting.push(...events);
        if (events.length > 0) due ??= setTimeout(flush, PACE);
      },
      (next) => {
        setState(next);
        // What happened while the stream was away is not told by tabs that were asleep: ask once.
        if (next === 'live' && wasLive) void client.invalidateQueries();
        wasLive ||= next === 'live';
      },
    );
    return () => {
      stop();
      if (due) clearTimeout(due);
    };
  }, [client]);

  useEffect(() => {
    if (state !== 'mute') return;
    const timer = setInterval(() => {
      if (!document.hidden) void client.invalidateQueries();
    }, POLL);
    return () => clearInterval(timer);
  }, [client, state]);

  return <State value={state}>{children}</State>;
}
