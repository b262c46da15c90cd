// A task is made, found and stopped without a mouse.
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { zh } from '../src/words/zh';
import { test } from './fixture';

const focused = (page: Page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    if (!element || element === document.body) return '';
    const isLabelled = element instanceof HTMLInputElement || element instanceof HTMLButtonElement;
    const labels = isLabelled ? [...(element.labels ?? [])] : [];
    const by = element.getAttribute('aria-labelledby');
    const named = by ? document.getElementById(by)?.textContent : null;
    return element.getAttribute('aria-label') ?? named ?? labels[0]?.textContent ?? element.textContent ?? '';
  });

/** Goes on with the tabulator until something of that name has the focus; it must be seen to have it. */
async function tabTo(page: Page, name: RegExp) {
  for (let step = 0; step < 80; step += 1) {
    await page.keyboard.press('Tab');
    if (!name.test(await focused(page))) continue;
    const outline = await page.evaluate(() => {
      const style = document.activeElement ? getComputedStyle(document.activeElement) : null;
      return style ? `${style.outlineStyle} ${style.outlineWidth}` : '';
    });
    expect(outline).not.toMatch(/^none|\b0px/);
    return;
  }
  throw new Error(`the tabulator never comes to ${name}`);
}

test('a task is made and stopped with the keyboard alone', async ({ visit, seed }) => {
  const { page } = await visit(`${seed.console}/`);
  await page.keyboard.press('g');
  await page.keyboard.press('c');
  await page.getByRole('heading', { level: 1, name: zh.create.title }).waitFor();
  await tabTo(page, /^任务名称/);
  await page.keyboard.type('by-keyboard');
  await tabTo(page, /^数据集/);
  await page.keyboard.press('Enter');
  await page.getByRole('listbox').waitFor();
  await page.keyboard.type('wiki');
  await page.getByRole('option', { name: /wikitext-103/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('wikitext-103 · v1').first().waitFor();
  await tabTo(page, /^llm-training-env$/);
  await page.keyboard.press('Space');
  await page.getByText(zh.create.chosen('1')).first().waitFor();
  await tabTo(page, /^命令/);
  await page.keyboard.type('sleep 600');
  await tabTo(page, /^创建并启动训练/);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/training\/task-/);
  await page.getByText(zh.task.running, { exact: true }).first().waitFor({ timeout: 30_000 });
  // Tabs by arrows, then the task's own button.
  await tabTo(page, /^概览$/);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.waitForURL(/tab=logs/);
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await page.getByRole('heading', { level: 1, name: zh.training.title }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: zh.shell.paletteHint }).waitFor();
  await page.keyboard.type('by-keyboard');
  await page.getByRole('option', { name: /by-keyboard/, selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'by-keyboard' }).waitFor();
  await tabTo(page, /^停止$/);
  await page.keyboard.press('Enter');
  await page.getByText('已停止', { exact: true }).first().waitFor({ timeout: 60_000 });
});
