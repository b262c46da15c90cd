import { describe, expect, inject } from 'vitest';
import { en } from '../src/words/en';
import { zh } from '../src/words/zh';
import { settled } from './browser';
import { test } from './fixture';
import { PAGES, TASK_PATH } from './pages';

const base = inject('console');

describe.each([
  { language: 'zh-CN' as const, words: zh },
  { language: 'en' as const, words: en },
])('in $language', ({ language, words }) => {
  test.for(PAGES)('$name opens without a complaint', async ({ name, path, title }, { visit }) => {
    if (name === 'groups' && !inject('hasGroups')) return;
    const { page, complaints } = await visit(`${base}${path}`, { language });
    expect(await page.locator('main h1').first().textContent()).toBe(title(words));
    expect(await page.title()).toContain('Fermi');
    expect(await page.locator('html').getAttribute('lang')).toBe(language);
    expect(await page.locator('main [role="alert"]').count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});

test('the page of a task opens, and its address can be loaded again', async ({ visit }) => {
  const { page, complaints } = await visit(`${base}${TASK_PATH}`);
  await page.reload();
  await settled(page);
  expect(complaints).toEqual([]);
});

test.for(PAGES)('$name is not wider than a telephone', async ({ path }, { visit }) => {
  const { page } = await visit(`${base}${path}`, { width: 390, height: 844 });
  const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(over).toBeLessThanOrEqual(0);
});

test('language and theme are kept', async ({ visit }) => {
  const { page } = await visit(`${base}/`);
  await page.getByRole('button', { name: zh.shell.switchLanguage }).click();
  await page.getByRole('heading', { level: 1, name: en.overview.title }).waitFor();
  await page.getByRole('button', { name: en.shell.theme }).click();
  await page.getByRole('menuitem', { name: en.shell.dark }).click();
  await page.reload();
  await page.getByRole('heading', { level: 1, name: en.overview.title }).waitFor();
  expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
});

test('the keyboard opens palette, help and pages', async ({ visit }) => {
  const { page } = await visit(`${base}/`);
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
});

test('an unknown address has a page that says so', async ({ visit }) => {
  const { page } = await visit(`${base}/nowhere`);
  await page.getByText(zh.common.notFound).waitFor();
  await page.getByRole('link', { name: zh.common.backHome }).click();
  await page.getByRole('heading', { level: 1, name: zh.overview.title }).waitFor();
});
