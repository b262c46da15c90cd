import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { holding } from './lock';

/** Storage as browsers have it, without the events that tell other tabs of a change: what they look for must come without. */
class Storage {
  [key: string]: unknown;
  getItem(key: string) {
    return typeof this[key] === 'string' ? this[key] : null;
  }
  setItem(key: string, value: string) {
    this[key] = value;
  }
  removeItem(key: string) {
    delete this[key];
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('navigator', {});
  vi.stubGlobal('localStorage', new Storage());
  vi.stubGlobal('window', { addEventListener: () => {}, removeEventListener: () => {} });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('of tabs that take turns none waits for long, and never have two the name', async () => {
  const ended = new AbortController();
  const [turns, longest] = [Array(5).fill(0), Array(5).fill(0)];
  let holders = 0;
  const tabs = turns.map(async (_, tab) => {
    while (!ended.signal.aborted) {
      const begun = Date.now();
      await holding('turn', ended.signal, async () => {
        longest[tab] = Math.max(longest[tab], Date.now() - begun);
        turns[tab] += 1;
        holders += 1;
        expect(holders).toBe(1);
        await wait(1_000);
        holders -= 1;
      });
      await wait(100);
    }
  });
  await vi.advanceTimersByTimeAsync(120_000);
  ended.abort();
  await vi.advanceTimersByTimeAsync(20_000);
  await Promise.all(tabs);
  expect(Math.min(...turns)).toBeGreaterThan(8);
  expect(Math.max(...longest)).toBeLessThan(15_000);
  expect(Object.keys(localStorage)).toEqual([]);
});

test('a tab that is gone gives way, whether it had the name or waited for it', async () => {
  const gone = { holder: 'gone', until: Date.now() + 5_000, since: 0 };
  localStorage.setItem('turn', JSON.stringify(gone));
  localStorage.setItem('turn waits gone', JSON.stringify(gone));
  const run = vi.fn(async () => {});
  const signal = new AbortController().signal;
  expect(await Promise.race([holding('turn', signal, run, true), wait(0)])).toBe(false);
  const held = holding('turn', signal, run);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(run).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(4_000);
  expect(await held).toBe(true);
  expect(run).toHaveBeenCalledOnce();
});
