import { apiUrl, headers } from '~/api/client';
import { type Frame, takeFrames } from './frames';
import { holding } from './lock';

/** `live`: the stream speaks; `waiting`: it is being opened again; `mute`: it stays silent, so that one has to ask. */
export type StreamState = 'live' | 'waiting' | 'mute';

type StreamOptions = {
  path: string;
  /** Where to go on; without it a stream begins with what happens now. */
  cursor?: string | null;
  onFrames: (frames: Frame[]) => void;
  onState: (state: StreamState) => void;
  signal: AbortSignal;
  /** The stream has told everything it will ever tell. */
  isOver?: () => boolean;
  /** One of many such streams: with too many tabs it is read now and then, so that requests find a connection. */
  isOneOfMany?: boolean;
};

/** The server says something at least every 15 s. */
const SILENCE = 35_000;
/** It speaks as soon as a stream is open; a proxy that collects answers keeps a mute one open. */
const FIRST_WORD = 5_000;
const MUTE_AFTER = 3;
/** Nothing said is worse than a connection that breaks: that is what a restarted server looks like. */
const SILENT_COUNTS = 2;

/** A browser has six connections to a server: so many streams stay open, the others take turns. */
const STAY_OPEN = ['fermi.stream 1', 'fermi.stream 2'];
const TURN = 'fermi.stream turn';
/** From the first word on: a server that has much to do is given the time to say it. */
const TURN_LASTS = 1_000;
const BETWEEN_TURNS = 2_000;

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Follows a stream until it is aborted: takes it up again behind the last frame, and notices when it is dead. */
export async function follow(options: StreamOptions): Promise<void> {
  const reading = new Reading(options);
  while (!options.signal.aborted) {
    if (!options.isOneOfMany) await reading.until(options.signal);
    else if (!(await inASlot(options.signal, (held) => reading.until(held)))) {
      await holding(TURN, options.signal, (held) => reading.until(held, TURN_LASTS)).catch(() => {});
    }
    if (options.signal.aborted || reading.isDone) return;
    await wait(reading.pause);
  }
}

async function inASlot(signal: AbortSignal, run: (held: AbortSignal) => Promise<void>): Promise<boolean> {
  for (const name of STAY_OPEN) if (await holding(name, signal, run, true)) return true;
  return false;
}

/** How far a stream was read, over any number of connections. */
class Reading {
  isDone = false;
  /** How long to wait before it is opened again. */
  pause = 0;
  private cursor: string | null;
  private failures = 0;

  constructor(private readonly options: StreamOptions) {
    this.cursor = options.cursor ?? null;
  }

  /** Reads one connection to its end, or for a turn. */
  async until(signal: AbortSignal, lasts?: number): Promise<void> {
    const { onState } = this.options;
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    signal.addEventListener('abort', stop, { once: true });
    let dog = setTimeout(stop, FIRST_WORD);
    let hasSpoken = false;
    let isTurnOver = false;
    let turn: ReturnType<typeof setTimeout> | undefined;
    const endTurn = () => {
      isTurnOver = true;
      stop();
    };
    try {
      const extra = { Accept: 'text/event-stream', ...(this.cursor ? { 'Last-Event-ID': this.cursor } : {}) };
      const response = await fetch(apiUrl(this.options.path), { headers: headers(extra), signal: attempt.signal });
      if (response.status >= 400 && response.status < 500 && response.status !== 401 && response.status !== 429) {
        this.isDone = true;
        return;
      }
      if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        clearTimeout(dog);
        dog = setTimeout(stop, SILENCE);
        this.failures = 0;
        if (!hasSpoken && lasts !== undefined) turn = setTimeout(endTurn, lasts);
        hasSpoken = true;
        onState('live');
        const taken = takeFrames(text + value);
        text = taken.rest;
        for (const frame of taken.frames) if (frame.id) this.cursor = frame.id;
        const told = taken.frames.filter((frame) => frame.data !== null);
        if (told.length > 0) this.options.onFrames(told);
      }
    } catch {
      const isSilent = attempt.signal.aborted && !hasSpoken;
      if (!isTurnOver) this.failures += isSilent ? SILENT_COUNTS : 1;
    } finally {
      clearTimeout(dog);
      clearTimeout(turn);
      signal.removeEventListener('abort', stop);
    }
    this.isDone = this.options.isOver?.() ?? false;
    this.pause = isTurnOver ? BETWEEN_TURNS : Math.min(300 * 2 ** Math.min(this.failures, 5), 5_000);
    if (!signal.aborted && !this.isDone && !isTurnOver) onState(this.failures >= MUTE_AFTER ? 'mute' : 'waiting');
  }
}
