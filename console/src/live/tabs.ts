import { BASE } from '~/api/base';
import type { Event } from '~/api/types';
import { holding } from './lock';
import { follow, type StreamState } from './stream';

type Heard = { events: Event[]; reset: boolean };
type Told =
  | { type: 'heard'; heard: Heard; cursor: string | null }
  | { type: 'state'; state: StreamState }
  | { type: 'ask' };

const AGAIN = 1_000;
const NAME = `fermi.live ${BASE}`;

/** One stream for all tabs of this browser: the tab that holds the lock has it and tells the others. */
export function listen(onHeard: (heard: Heard) => void, onState: (state: StreamState) => void): () => void {
  const ended = new AbortController();
  const channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel(NAME);
  let cursor: string | null = null;
  let leads = false;
  let last: StreamState = 'waiting';

  const tell = (told: Told) => channel?.postMessage(told);
  const setState = (state: StreamState) => {
    if (state === last) return;
    last = state;
    onState(state);
    if (leads) tell({ type: 'state', state });
  };
  channel?.addEventListener('message', ({ data }: MessageEvent<Told>) => {
    if (data.type === 'heard') {
      cursor = data.cursor;
      onHeard(data.heard);
    } else if (data.type === 'state') setState(data.state);
    else if (leads) tell({ type: 'state', state: last });
  });

  const lead = async (held: AbortSignal) => {
    leads = true;
    // A tab that takes the stream over and has heard nothing yet does not know where to go on: all is looked at again.
    let isLost = last === 'live' && cursor === null;
    await follow({
      path: '/api/v1/events',
      cursor,
      signal: held,
      onState: (state) => {
        setState(state);
        if (state !== 'live' || !isLost) return;
        isLost = false;
        onHeard({ events: [], reset: true });
      },
      onFrames: (frames) => {
        const heard: Heard = { events: [], reset: frames.some((frame) => frame.kind === 'reset') };
        for (const frame of frames) {
          if (frame.kind === 'reset' || frame.data === null) continue;
          heard.events.push(JSON.parse(frame.data) as Event);
          if (frame.id) cursor = frame.id;
        }
        onHeard(heard);
        tell({ type: 'heard', heard, cursor });
      },
    });
  };

  const stay = async () => {
    tell({ type: 'ask' });
    while (!ended.signal.aborted) {
      await holding(NAME, ended.signal, lead);
      // A tab that slept may have lost its lead: it listens again.
      leads = false;
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
    }
  };
  void (channel ? stay() : lead(ended.signal)).catch(() => {});

  return () => {
    ended.abort();
    channel?.close();
  };
}
