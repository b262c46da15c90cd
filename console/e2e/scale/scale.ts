// What the lists cost with much in them, in processor time of the page: npm run scale, on a console whose data folder
// fill.py has filled (FERMI_CONSOLE_URL). No frame should take 50 ms.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, inject, test } from 'vitest';
import { launch, open, settled } from '../browser';
import { scroll, worked } from './frames';

const LISTS = [
  { path: '/', scrolls: 'html' },
  { path: '/training', scrolls: 'main [role=table]' },
  { path: '/environments', scrolls: 'main [role=list]' },
  { path: '/environments?view=table', scrolls: 'main [role=table]' },
  { path: '/training/create', scrolls: 'main [role=list]' },
  { path: '/groups', scrolls: 'main [role=table]' },
  { path: '/preflight', scrolls: 'main [role=list]' },
];
let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

test('every list', async () => {
  const table = [];
  for (const { path, scrolls } of LISTS) {
    const { page, close } = await open(browser, `${inject('console')}/settings`);
    const loading = await worked(browser, page, async () => {
      await page.goto(`${inject('console')}${path}`);
      await settled(page);
    });
    const scrolling = await worked(browser, page, () => scroll(page, scrolls, 120, 120));
    const elements = await page.evaluate(() => document.querySelectorAll('*').length);
    table.push({
      path,
      elements,
      'load ms': loading.totalMs,
      'worst task of load': loading.worstMs,
      'worst frame of scroll': scrolling.worstMs,
      'frames over 50 ms': scrolling.over50,
    });
    await close();
  }
  console.table(table);
});
