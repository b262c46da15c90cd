import { apiUrl, headers } from '~/api/client';
import { type Frame, takeFrames } from './frames';

/** `live`: the stream speaks; `waiting`: it is being opened again; `mute`: it stays silent, so that one has to ask. */
export type StreamState = 'live' | 'waiting' | 'mute';

export type StreamOptions = {
  path: string;
  /** Where to go on; without it a stream begins with what happens now. */
  cursor?: string | null;
  onFrames: (frames: Frame[]) => void;
  onState: (state: StreamState) => void;
  signal: AbortSignal;
  /** The stream has told everything it will ever tell. */
  isOver?: () => boolean;
};

/** The server says something at least every 15 s; a proxy that collects answers keeps a mute stream open. */
const SILENCE = 35_000;
const MUTE_AFTER = 3;

/** Follows a stream until it is aborted: takes it up again behind the last frame, and notices when it is dead. */
export async function follow(options: StreamOptions): Promise<void> {
  const { signal, onState } = options;
  let cursor = options.cursor ?? null;
  let failures = 0;
  while (!signal.aborted) {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    signal.addEventListener('abort', stop, { once: true });
    let dog = setTimeout(stop, SILENCE);
    try {
      const extra = { Accept: 'text/event-stream', ...(cursor ? { 'Last-Event-ID': cursor } : {}) };
      const response = await fetch(apiUrl(options.path), { headers: headers(extra), signal: attempt.signal });
      if (response.status >= 400 && response.status < 500 && response.status !== 401 && response.status !== 429) return;
      if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        clearTimeout(dog);
        dog = setTimeout(stop, SILENCE);
        failures = 0;
        onState('live');
        const taken = takeFrames(text + value);
        text = taken.rest;
        for (const frame of taken.frames) if (frame.id) cursor = frame.id;
        const told = taken.frames.filter((frame) => frame.data !== null);
        if (told.length > 0) options.onFrames(told);
      }
    } catch {
      failures += 1;
    } finally {
      clearTimeout(dog);
      signal.removeEventListener('abort', stop);
    }
    if (signal.aborted || options.isOver?.()) return;
    onState(failures >= MUTE_AFTER ? 'mute' : 'waiting');
    await new Promise((resolve) => setTimeout(resolve, Math.min(300 * 2 ** Math.min(failures, 5), 5_000)));
  }
}
