import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, inject } from 'vitest';
import { TABS as SETTINGS } from '../src/pages/settings/search';
import { TABS } from '../src/pages/task/search';
import { en } from '../src/words/en';
import { zh } from '../src/words/zh';
import { settled } from './browser';
import { test } from './fixture';
import { FAILED_PATH, PAGES, TASK_PATH, WAITING_PATH } from './pages';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const base = inject('console');

declare const axe: { run: () => Promise<AxeResults> };

async function faults(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => axe.run());
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  return serious.map(({ id, nodes }) => {
    const where = nodes.slice(0, 3).map((node) => `${node.html} ${node.any[0]?.message ?? ''}`);
    return `${new URL(page.url()).pathname}${new URL(page.url()).search} ${id}: ${where.join(' | ')}`;
  });
}

const TASKS = [
  ...TABS.map((tab) => `${TASK_PATH}?tab=${tab}`),
  `${TASK_PATH}?tab=launch&rank=1`,
  `${TASK_PATH}?tab=launch&launch=planned`,
  `${FAILED_PATH}?tab=overview`,
  `${FAILED_PATH}?tab=diagnosis`,
  `${FAILED_PATH}?tab=logs`,
  WAITING_PATH,
];

const FURTHER = [
  '/environments?view=table',
  '/training/create?mode=auto',
  '/training?compare=task-2,task-4',
  '/planner?model=model-001&env=env-004,env-005&show=layouts',
  ...SETTINGS.map((tab) => `/settings?tab=${tab}`),
  '/nowhere',
];

// Each theme and each language once: contrast does not depend on words, nor names on colours.
describe.each([
  { language: 'zh-CN', theme: 'light' },
  { language: 'en', theme: 'dark' },
] as const)('in $language and $theme', (look) => {
  test('no page has a serious fault', async ({ visit }) => {
    const { page } = await visit(`${base}/`, look, { bypassCSP: true });
    const found: string[] = [];
    for (const path of [...PAGES.map((one) => one.path), ...TASKS, ...FURTHER]) {
      await page.goto(`${base}${path}`);
      await settled(page);
      found.push(...(await faults(page)));
    }
    expect(found).toEqual([]);
  });

  test('no dialog, menu or list has a serious fault', async ({ visit }) => {
    const w = look.language === 'en' ? en : zh;
    const { page } = await visit(`${base}/groups`, look, { bypassCSP: true });
    const found: string[] = [];
    const opened = async (path: string, open: () => Promise<void>, role: 'dialog' | 'menu' | 'listbox' | 'textbox') => {
      await page.goto(`${base}${path}`);
      await settled(page);
      await open();
      await page.getByRole(role).first().waitFor();
      found.push(...(await faults(page)));
    };
    const press = (name: string) => () => page.getByRole('button', { name, exact: true }).first().click();
    const list = (name: string) => () => page.getByRole('combobox', { name }).click();
    await opened('/groups', press(w.groups.create), 'dialog');
    await opened('/environments', press(w.environments.join), 'dialog');
    await opened('/environments', press('gn6'), 'dialog');
    await opened('/environments', press(w.environments.actionsOf('gn6')), 'menu');
    await opened('/environments', press(w.environments.filters.status), 'dialog');
    await opened('/datasets', press(w.datasets.create), 'dialog');
    await opened('/models', press(w.models.create), 'dialog');
    await opened('/settings?tab=users', press(w.settings.addUser), 'dialog');
    await opened('/settings?tab=tokens', press(w.settings.makeToken), 'dialog');
    const makeToken = async () => {
      await press(w.settings.makeToken)();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('textbox').fill(`axe-${look.language}-${look.theme}`);
      await dialog.getByRole('button', { name: w.settings.makeToken }).click();
      await page.getByText(w.settings.tokenOnce).waitFor();
    };
    await opened('/settings?tab=tokens', makeToken, 'dialog');
    await opened('/settings?tab=join', press(w.environments.joinMake), 'dialog');
    await opened('/settings?tab=secrets', press(w.settings.setSecret), 'dialog');
    await opened('/settings?tab=webhooks', press(w.settings.addWebhook), 'dialog');
    const startPreflight = async () => {
      await press(w.preflight.start)();
      await page.waitForURL(/[?&]id=/);
    };
    await opened('/preflight?env=env-001,env-002', startPreflight, 'textbox');
    await opened('/', () => page.getByRole('button', { name: w.shell.loggedInAs }).click(), 'menu');
    await opened('/', () => page.keyboard.press('Control+k'), 'dialog');
    await opened('/', () => page.keyboard.press('?'), 'dialog');
    await opened('/training/create', list(w.create.dataset), 'listbox');
    await opened('/training/create', () => page.getByText(w.create.works.recipe, { exact: true }).click(), 'textbox');
    await opened('/training/create?mode=auto', list(w.create.autoGpu), 'listbox');
    expect(found).toEqual([]);
  });
});
