import type { Browser, Page } from 'playwright-core';

/** What the page's own thread did: processor time, so that other work on the machine does not count. */
export type Work = { worstMs: number; over50: number; totalMs: number };

type TraceEvent = { name: string; ph: string; pid: number; tid: number; tdur?: number; args?: { name?: string } };

/** Traces a page while something is done; each task of its main thread is a frame or a part of one. */
export async function worked(browser: Browser, page: Page, act: () => Promise<unknown>): Promise<Work> {
  const categories = ['-*', '__metadata', 'disabled-by-default-devtools.timeline'];
  await browser.startTracing(page, { categories });
  await act();
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const mains = new Set(
    trace.traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = trace.traceEvents
    .filter(({ name, ph, pid, tid }) => name === 'RunTask' && ph === 'X' && mains.has(`${pid} ${tid}`))
    .map(({ tdur }) => (tdur ?? 0) / 1000);
  const sum = tasks.reduce((whole, ms) => whole + ms, 0);
  return {
    worstMs: Math.round(Math.max(0, ...tasks)),
    over50: tasks.filter((ms) => ms > 50).length,
    totalMs: Math.round(sum),
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
