// Pictures of every page in both languages, wide and narrow, into console/shots; docs/images has the one of the README.
import { copyFileSync, mkdirSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, inject, test } from 'vitest';
import { TABS } from '../src/pages/task/search';
import { launch, open, settled } from './browser';
import { FAILED_PATH, PAGES, TASK_PATH, WAITING_PATH } from './pages';

const OUT = new URL('../shots/', import.meta.url).pathname;
const DOCS = new URL('../../docs/images/', import.meta.url).pathname;
const IN_README = 'task-failed';
let browser: Browser;
beforeAll(async () => {
  mkdirSync(OUT, { recursive: true });
  browser = await launch();
});
afterAll(() => browser.close());

const SHOWN = [
  ...PAGES,
  ...TABS.map((tab) => ({ name: `task-${tab}`, path: `${TASK_PATH}?tab=${tab}` })),
  { name: 'task-waiting', path: WAITING_PATH },
  { name: 'task-failed', path: FAILED_PATH },
  { name: 'task-failed-logs', path: `${FAILED_PATH}?tab=logs` },
  { name: 'task-diagnosis-failed', path: `${FAILED_PATH}?tab=diagnosis` },
  { name: 'environments-table', path: '/environments?view=table' },
  { name: 'environment', path: '/environments?env=env-001' },
  { name: 'create-three', path: '/training/create?env=env-001,env-002,env-003' },
  { name: 'nowhere', path: '/nowhere' },
];
const LOOKS = [
  { language: 'zh-CN', theme: 'light' },
  { language: 'en', theme: 'dark' },
] as const;

test.each(LOOKS)('$language', async (look) => {
  for (const [width, height] of [
    [1280, 900],
    [390, 844],
  ] as const) {
    const { page, close } = await open(browser, `${inject('console')}/`, { ...look, width, height });
    for (const { name, path } of SHOWN) {
      await page.goto(`${inject('console')}${path}`);
      await settled(page);
      // Charts and maps are drawn when their data has come.
      await page.waitForTimeout(800);
      const file = `${name}.${look.language}.${width}.png`;
      await page.screenshot({ path: `${OUT}${file}` });
      if (width === 1280 && name === IN_README) {
        copyFileSync(`${OUT}${file}`, `${DOCS}console-task.${look.language}.png`);
      }
    }
    await close();
  }
});
