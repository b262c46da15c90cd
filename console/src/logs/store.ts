import { ask } from '~/api/client';
import type { LogChunk } from '~/api/types';
import { follow, type StreamState } from '~/live/stream';
import type { Piece, Place, StreamKind } from './line';
import { onlyRank, type RankFilter, wantsRank } from './ranks';
import { LogWindow, type Reach } from './window';

/** What is looked at: of which task, which ranks, which stream, which attempt. */
type LogSelection = {
  taskId: string;
  ranks: RankFilter;
  stream: StreamKind | null;
  attempt: number | null;
  worldSize: number;
};

export type LogState = {
  lines: LogWindow['lines'];
  canGoBack: boolean;
  /** There are newer lines than those held, and they are not followed. */
  isDetached: boolean;
  isLoading: boolean;
  isOver: boolean;
  stream: StreamState;
  failed: unknown;
};

/** Bursts become one update. */
const PACE = 120;
/** A stream that is open and says nothing for so long has nothing to say: nothing was written yet. */
const QUIET = 1_000;
/** How often one asks when the stream stays silent. */
const ASK = 3_000;
/** One look back or ahead, in bytes of each stream. */
const STEP = 128 << 10;
/** One look asks no more streams than these: each is a request. */
const STREAMS = 16;

/** Lines of a task as they come, and a way to those before and behind. */
export class LogStore {
  private readonly window = new LogWindow();
  private readonly listeners = new Set<() => void>();
  private waiting: Piece[] = [];
  private due: ReturnType<typeof setTimeout> | null = null;
  private isBusy = false;
  private state: LogState;

  constructor(
    private readonly selection: LogSelection,
    private readonly around: Place | null,
  ) {
    this.state = {
      lines: [],
      canGoBack: false,
      isDetached: around !== null,
      isLoading: true,
      isOver: false,
      stream: 'waiting',
      failed: null,
    };
  }

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  snapshot = () => this.state;
  has = (key: string) => this.window.has(key);

  /** Begins: with the end of the logs, which is followed, or around a line. */
  start(signal: AbortSignal) {
    if (this.around) void this.lookAround(this.around, signal);
    else void this.follow(signal);
  }

  private async follow(signal: AbortSignal) {
    const { taskId, ranks, stream, attempt, worldSize } = this.selection;
    const rank = onlyRank(ranks);
    const tail = Math.min(2_000, Math.max(20, Math.floor(12_000 / (rank === null ? Math.max(worldSize, 1) : 1))));
    const query = new URLSearchParams({ tail: String(tail) });
    if (rank !== null) query.set('rank', String(rank));
    if (stream) query.set('stream', stream);
    if (attempt !== null) query.set('attempt', String(attempt));
    const isDone = () => this.state.isOver || this.window.isCutAtEnd;
    const path = `/api/v1/training-tasks/${encodeURIComponent(taskId)}/logs?${query}`;
    await follow({
      path,
      signal,
      isOneOfMany: true,
      isOver: isDone,
      onState: (next) => {
        // It is told with every piece that comes: what is no news makes nobody look again.
        if (next === this.state.stream) return;
        this.set({ stream: next });
        if (next === 'mute') void this.askWhileMute(path, signal);
        if (next === 'live' && this.state.isLoading) setTimeout(() => this.settle(signal), QUIET);
      },
      onFrames: (frames) => {
        if (this.window.isCutAtEnd) return;
        for (const frame of frames) {
          if (frame.kind === 'end') this.state = { ...this.state, isOver: true };
          else if (frame.data) this.waiting.push(JSON.parse(frame.data) as Piece);
        }
        this.due ??= setTimeout(this.flush, PACE);
      },
    });
    if (!signal.aborted) this.flush();
  }

  /** A stream that stays silent, as behind a proxy that collects answers, is asked for its end again and again. */
  private async askWhileMute(path: string, signal: AbortSignal) {
    while (!signal.aborted && this.state.stream === 'mute') {
      const answer = await ask<{ chunks: LogChunk[] }>('GET', path).catch(() => null);
      this.waiting.push(...(answer?.chunks ?? []));
      if (!signal.aborted && this.waiting.length > 0) this.flush();
      else if (answer) this.settle(signal);
      await new Promise((resolve) => setTimeout(resolve, ASK));
    }
  }

  /** Says that there is nothing, where one still waits for the first lines. */
  private settle(signal: AbortSignal) {
    if (!signal.aborted && this.state.isLoading) this.flush();
  }

  private flush = () => {
    if (this.due) clearTimeout(this.due);
    this.due = null;
    const pieces = this.waiting.filter((piece) => wantsRank(this.selection.ranks, piece.rank));
    this.waiting = [];
    if (!this.window.isCutAtEnd) this.window.append(pieces);
    this.show({ isLoading: false });
  };

  private async lookAround(place: Place, signal: AbortSignal) {
    const from = Math.max(0, place.offset - STEP / 2);
    try {
      const found = await this.read(place, from, STEP, signal);
      const text = from > 0 ? found.text.slice(found.text.indexOf('\n') + 1) : found.text;
      const cut = new TextEncoder().encode(found.text).length - new TextEncoder().encode(text).length;
      this.window.append([{ ...found, text, offset: found.offset + cut }]);
      this.show({ isLoading: false });
    } catch (failed) {
      if (!signal.aborted) this.show({ isLoading: false, failed });
    }
  }

  /** Fetches what was written before the window's first lines. */
  back = () =>
    this.move((reach) => {
      if (reach.first === 0) return null;
      const from = Math.max(0, reach.first - STEP);
      return [from, reach.first - from];
    }, 'prepend');

  /** Fetches what was written behind the window's last lines, where it does not follow. */
  ahead = () => (this.state.isDetached ? this.move((reach) => [reach.next, STEP], 'append') : Promise.resolve());

  private async move(part: (reach: Reach) => [number, number] | null, way: 'append' | 'prepend') {
    if (this.isBusy) return;
    this.isBusy = true;
    try {
      const wanted = [...this.window.reaches.values()].flatMap((reach) => {
        const bytes = part(reach);
        return bytes ? [{ reach, bytes }] : [];
      });
      const asked = wanted.slice(0, STREAMS).map(({ reach, bytes }) => this.read(reach, bytes[0], bytes[1]));
      this.window[way](await Promise.all(asked));
      this.show({});
    } catch (failed) {
      this.show({ failed });
    } finally {
      this.isBusy = false;
    }
  }

  private async read(of: Omit<Place, 'offset'>, offset: number, limitBytes: number, signal?: AbortSignal) {
    const { attempt, rank, stream } = of;
    const query = Object.entries({ attempt, rank, stream, offset, limitBytes }).map(
      ([key, value]) => `${key}=${value}`,
    );
    const path = `/api/v1/training-tasks/${encodeURIComponent(this.selection.taskId)}/logs?${query.join('&')}`;
    const answer = await ask<{ chunks: LogChunk[] }>('GET', path);
    if (signal?.aborted) throw new DOMException('', 'AbortError');
    const empty: Piece = { attempt, rank, stream, offset, nextOffset: offset, text: '' };
    return answer.chunks[0] ?? empty;
  }

  private show(change: Partial<LogState>) {
    const { lines, canGoBack, isCutAtEnd } = this.window;
    this.set({ lines, canGoBack, isDetached: this.around !== null || isCutAtEnd, ...change });
  }

  private set(change: Partial<LogState>) {
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener();
  }
}
