// What the lists cost with much in them, in processor time of the page: npm run scale, on a console whose data folder
// fill.py has filled (FERMI_CONSOLE_URL). No frame should take 50 ms.
import { inject } from 'vitest';
import { settled } from '../browser';
import { test } from '../fixture';
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

test('every list', async ({ visit, browser }) => {
  const table = [];
  for (const { path, scrolls } of LISTS) {
    const { page, close } = await visit(`${inject('console')}/settings`);
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
