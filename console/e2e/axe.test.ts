import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { launch, open } from './browser';
import { PAGES, TASK_PATH } from './pages';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const base = inject('console');
let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

declare const axe: { run: () => Promise<AxeResults> };

describe.each(['light', 'dark'] as const)('in %s', (theme) => {
  test.each([...PAGES, { name: 'task', path: TASK_PATH }])('$name has no serious fault', async ({ path }) => {
    const { page, close } = await open(browser, `${base}${path}`, { theme }, { bypassCSP: true });
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => axe.run());
    const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    expect(
      serious.map(
        ({ id, nodes }) =>
          `${id}: ${nodes
            .slice(0, 3)
            .map((node) => node.html)
            .join(' | ')}`,
      ),
    ).toEqual([]);
    await close();
  });
});
