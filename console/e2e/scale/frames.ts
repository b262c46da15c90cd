import type { Browser, Page } from 'playwright-core';

/** What the page's own thread did: processor time, so that other work on the machine does not count. */
export type Work = { worstMs: number; over50: number; totalMs: number };
/** How long until something is on a canvas: from the click, and from when the last of its data had come. */
export type Drawing = { clickMs: number; arrivalMs: number; processorMs: number };

type TraceEvent = {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  tdur?: number;
  args?: { name?: string; data?: { requestId?: string; url?: string } };
};

const CATEGORIES = [
  '-*',
  '__metadata',
  'blink.user_timing',
  'devtools.timeline',
  'disabled-by-default-devtools.timeline',
];

async function traced(browser: Browser, page: Page, act: () => Promise<unknown>): Promise<TraceEvent[]> {
  await browser.startTracing(page, { categories: CATEGORIES });
  await act();
  return (JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] }).traceEvents;
}

/** Each task of the page's main thread is a frame or a part of one; workers have tasks too. */
function tasksOf(events: readonly TraceEvent[], threads = /^CrRendererMain$/): TraceEvent[] {
  const mains = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && threads.test(args?.name ?? ''))
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  return events.filter(({ name, ph, pid, tid }) => name === 'RunTask' && ph === 'X' && mains.has(`${pid} ${tid}`));
}

const sumOf = (tasks: readonly TraceEvent[]) =>
  Math.round(tasks.reduce((whole, { tdur }) => whole + (tdur ?? 0) / 1000, 0));

export async function worked(browser: Browser, page: Page, act: () => Promise<unknown>): Promise<Work> {
  const all = tasksOf(await traced(browser, page, act));
  const tasks = all.map(({ tdur }) => (tdur ?? 0) / 1000);
  return {
    worstMs: Math.round(Math.max(0, ...tasks)),
    over50: tasks.filter((ms) => ms > 50).length,
    totalMs: sumOf(all),
  };
}

/** Clicks, and waits for a picture of what an address tells; `watchDrawing` is in the page. */
export async function drew(browser: Browser, page: Page, told: RegExp, click: () => Promise<void>): Promise<Drawing> {
  const events = await traced(browser, page, async () => {
    await click();
    // Who looks whether it is there takes time from who draws it.
    await page.waitForTimeout(4_000);
    await page.waitForFunction((mark) => performance.getEntriesByName(mark).length > 0, PAINTED);
  });
  const when = (mark: string) => events.find(({ name }) => name === mark)?.ts ?? Number.NaN;
  const [clicked, painted] = [when(CLICKED), when(PAINTED)];
  const asked = events.find(({ name, args }) => name === 'ResourceSendRequest' && told.test(args?.data?.url ?? ''));
  const parts = events.filter(
    ({ name, args }) => name === 'ResourceReceivedData' && args?.data?.requestId === asked?.args?.data?.requestId,
  );
  // What was known already when it was clicked had come then.
  const arrived = Math.max(clicked, ...parts.map(({ ts }) => ts).filter((ts) => ts < painted));
  const tasks = tasksOf(events, /^CrRendererMain$|^DedicatedWorker/).filter(
    ({ ts, dur }) => ts + (dur ?? 0) >= arrived && ts <= painted,
  );
  return {
    clickMs: Math.round((painted - clicked) / 1000),
    arrivalMs: Math.round((painted - arrived) / 1000),
    processorMs: sumOf(tasks),
  };
}

/** Scrolls something, a stretch with every frame. Returns the frames that were drawn and the way. */
export const scroll = (page: Page, selector: string, frames: number, step: number) =>
  page.evaluate(
    async ({ selector, frames, step }) => {
      const element = document.querySelector(selector);
      if (!element) throw new Error(`nothing to scroll: ${selector}`);
      for (let count = 0; count < frames; count += 1) {
        element.scrollTop += step;
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
      return Math.round(element.scrollTop);
    },
    { selector, frames, step },
  );

const CLICKED = 'fermi clicked';
const PAINTED = 'fermi painted';

/** Marks in every page that is opened when something was clicked, and when the first picture after it was painted. */
export const watchDrawing = (page: Page) =>
  page.addInitScript(
    ({ CLICKED, PAINTED }) => {
      const has = (mark: string) => performance.getEntriesByName(mark).length > 0;
      addEventListener('click', () => has(CLICKED) || performance.mark(CLICKED), { capture: true });
      let isSeen = false;
      const behindFrame = () => {
        isSeen = true;
        requestAnimationFrame(() => {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = () => performance.mark(PAINTED);
          port2.postMessage(null);
        });
      };
      for (const name of ['fillRect', 'drawImage', 'transferFromImageBitmap'] as const) {
        for (const Kind of [CanvasRenderingContext2D, ImageBitmapRenderingContext]) {
          const draw = (Kind.prototype as unknown as Record<string, (...args: never[]) => void>)[name];
          if (!draw) continue;
          Object.defineProperty(Kind.prototype, name, {
            value(this: { canvas: HTMLCanvasElement | OffscreenCanvas }, ...args: never[]) {
              draw.apply(this, args);
              if (!isSeen && has(CLICKED) && this.canvas instanceof HTMLCanvasElement && this.canvas.role === 'img')
                behindFrame();
            },
          });
        }
      }
    },
    { CLICKED, PAINTED },
  );
