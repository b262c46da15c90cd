// Pictures of every page in both languages, into docs/images: npm run shots
import { mkdirSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, inject, test } from 'vitest';
import { launch, open } from './browser';
import { PAGES, TASK_PATH } from './pages';

const OUT = new URL('../../docs/images/', import.meta.url).pathname;
let browser: Browser;
beforeAll(async () => {
  mkdirSync(OUT, { recursive: true });
  browser = await launch();
});
afterAll(() => browser.close());

const LOOKS = [
  { language: 'zh-CN', theme: 'light' },
  { language: 'en', theme: 'dark' },
] as const;

test.each([...PAGES, { name: 'task', path: TASK_PATH }])('$name', async ({ name, path }) => {
  if (name === 'groups' && !inject('hasGroups')) return;
  for (const look of LOOKS) {
    const { page, close } = await open(browser, `${inject('console')}${path}`, look);
    await page.waitForTimeout(1_500);
    await page.screenshot({ path: `${OUT}console-${name}.${look.language}.png` });
    await close();
  }
});
