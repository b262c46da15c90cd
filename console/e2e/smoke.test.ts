import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { en } from '../src/words/en';
import { zh } from '../src/words/zh';
import { launch, open, settled } from './browser';
import { PAGES, TASK_PATH } from './pages';

const base = inject('console');
let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

describe.each([
  { language: 'zh-CN' as const, words: zh },
  { language: 'en' as const, words: en },
])('in $language', ({ language, words }) => {
  test.each(PAGES)('$name opens without a complaint', async ({ name, path, title }) => {
    if (name === 'groups' && !inject('hasGroups')) return;
    const { page, complaints, close } = await open(browser, `${base}${path}`, { language });
    expect(await page.locator('main h1').first().textContent()).toBe(title(words));
    expect(await page.title()).toContain('Fermi');
    expect(await page.locator('html').getAttribute('lang')).toBe(language);
    expect(await page.locator('main [role="alert"]').count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });
});

test('the page of a task opens, and its address can be loaded again', async () => {
  const { page, complaints, close } = await open(browser, `${base}${TASK_PATH}`);
  await page.reload();
  await settled(page);
  expect(complaints).toEqual([]);
  await close();
});

test.each(PAGES)('$name is not wider than a telephone', async ({ path }) => {
  const { page, close } = await open(browser, `${base}${path}`, { width: 390, height: 844 });
  const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(over).toBeLessThanOrEqual(0);
  await close();
});

test('language and theme are kept', async () => {
  const { page, close } = await open(browser, `${base}/`);
  await page.getByRole('button', { name: zh.shell.switchLanguage }).click();
  await page.getByRole('heading', { level: 1, name: en.overview.title }).waitFor();
  await page.getByRole('button', { name: en.shell.theme }).click();
  await page.getByRole('menuitem', { name: en.shell.dark }).click();
  await page.reload();
  await page.getByRole('heading', { level: 1, name: en.overview.title }).waitFor();
  expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
  await close();
});

test('the keyboard opens palette, help and pages', async () => {
  const { page, close } = await open(browser, `${base}/`);
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('combobox', { name: zh.shell.paletteHint });
  await palette.fill(zh.models.title);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: zh.models.title }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: zh.shell.shortcuts }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await page.getByRole('heading', { level: 1, name: zh.datasets.title }).waitFor();
  await page.keyboard.press('/');
  expect(await page.evaluate(() => document.activeElement?.getAttribute('type'))).toBe('search');
  await close();
});

test('an unknown address has a page that says so', async () => {
  const { page, close } = await open(browser, `${base}/nowhere`);
  await page.getByText(zh.common.notFound).waitFor();
  await page.getByRole('link', { name: zh.common.backHome }).click();
  await page.getByRole('heading', { level: 1, name: zh.overview.title }).waitFor();
  await close();
});
