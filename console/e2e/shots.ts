// Pictures of every page in both languages and themes, wide and narrow, into console/shots; some of them, sharper, into
// docs/images for the documents.
import { mkdirSync, writeFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { beforeAll, inject } from 'vitest';
import { TABS } from '../src/pages/task/search';
import { en } from '../src/words/en';
import { type Words, zh } from '../src/words/zh';
import { settled } from './browser';
import { api, until } from './fermi';
import { test } from './fixture';
import { FAILED_PATH, PAGES, TASK_PATH, WAITING_PATH } from './pages';

const OUT = new URL('../shots/', import.meta.url).pathname;
const DOCS = new URL('../../docs/images/', import.meta.url).pathname;
const GROUP = {
  name: 'llm-pretrain',
  workers: ['gn6', 'gn7'].flatMap((node) => [0, 1, 2, 3].map((index) => `${node}-${index}`)),
  config: { masterAddr: 'gn6', worldSize: 6 },
};
beforeAll(async () => {
  mkdirSync(OUT, { recursive: true });
  await api(inject('server'), '/groups', GROUP);
});

const CREATE_THREE = '/training/create?env=env-001,env-002,env-003';
const SHOWN = [
  ...PAGES,
  ...TABS.map((tab) => ({ name: `task-${tab}`, path: `${TASK_PATH}?tab=${tab}` })),
  { name: 'task-waiting', path: WAITING_PATH },
  { name: 'task-failed', path: FAILED_PATH },
  { name: 'task-failed-logs', path: `${FAILED_PATH}?tab=logs` },
  { name: 'task-diagnosis-failed', path: `${FAILED_PATH}?tab=diagnosis` },
  { name: 'environments-table', path: '/environments?view=table' },
  { name: 'environment', path: '/environments?env=env-001' },
  { name: 'create-three', path: CREATE_THREE },
  { name: 'create-auto', path: '/training/create?mode=auto' },
  { name: 'settings-users', path: '/settings?tab=users' },
  { name: 'settings-tokens', path: '/settings?tab=tokens' },
  { name: 'settings-join', path: '/settings?tab=join' },
  { name: 'settings-secrets', path: '/settings?tab=secrets' },
  { name: 'settings-webhooks', path: '/settings?tab=webhooks' },
  { name: 'settings-audit', path: '/settings?tab=audit' },
  { name: 'nowhere', path: '/nowhere' },
];
type Picture = { name: string; path: string; height: number; fill?: (page: Page, w: Words) => Promise<void> };

/** The documents' own: `console-<name>.<language>.webp`. */
const IN_DOCS: Picture[] = [
  { name: 'create', path: '/training/create?env=env-004,env-005', height: 940, fill: fillCreate },
  { name: 'task', path: FAILED_PATH, height: 860 },
  { name: 'metrics', path: `${TASK_PATH}?tab=metrics`, height: 1_080 },
  { name: 'environments', path: '/environments', height: 580 },
  { name: 'groups', path: '/groups', height: 860 },
  { name: 'planner', path: '/planner?model=model-001&env=env-004,env-005', height: 880 },
];

/** What a person writes before all of the page has something to say. */
async function fillCreate(page: Page, w: Words) {
  await page.getByLabel(w.create.name).fill('llama2-7b-sft');
  for (const [field, option] of [
    [w.create.dataset, /wikitext-103/],
    [w.create.model, /llama2-7b/],
  ] as const) {
    await page.getByLabel(field).first().click();
    await page.getByRole('option', { name: option }).first().click();
  }
  await page.getByRole('heading', { level: 1 }).click();
}
const LANGUAGES = ['zh-CN', 'en'] as const;
const LOOKS = LANGUAGES.flatMap((language) =>
  (['light', 'dark'] as const).flatMap((theme) =>
    [
      { width: 1280, height: 900 },
      { width: 390, height: 844 },
    ].map((size) => ({ language, theme, ...size })),
  ),
);
/** FERMI_SHOTS names some pages, with commas between them. */
const ONLY = process.env.FERMI_SHOTS?.split(',');
const isWanted = ({ name }: { name: string }) => ONLY?.includes(name) ?? true;

async function show(page: Page, path: string) {
  await page.goto(`${inject('console')}${path}`);
  await settled(page);
  // Charts and maps are drawn when their data has come.
  await page.waitForTimeout(800);
}

test.for(LOOKS)('$language $theme $width', async (look, { visit }) => {
  const { page } = await visit(`${inject('console')}/`, look);
  for (const { name, path } of SHOWN.filter(isWanted)) {
    await show(page, path);
    await page.screenshot({ path: `${OUT}${name}.${look.language}.${look.theme}.${look.width}.png` });
  }
});

test.for(LANGUAGES)('for the documents in %s', async (language, { visit }) => {
  await until('a training with something to see', async () => {
    const { progress } = await api<{ progress?: { step: number } }>(
      inject('server'),
      TASK_PATH.replace('/training', '/training-tasks'),
    );
    return (progress?.step ?? 0) > 100 ? true : null;
  });
  const look = { language, theme: language === 'en' ? 'dark' : 'light', width: 1280 } as const;
  const { page } = await visit(`${inject('console')}/`, look, { deviceScaleFactor: 2 });
  const session = await page.context().newCDPSession(page);
  for (const { name, path, height, fill } of IN_DOCS.filter(isWanted)) {
    await page.setViewportSize({ width: look.width, height });
    await show(page, path);
    await fill?.(page, language === 'en' ? en : zh);
    await page.waitForTimeout(800);
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 75 });
    writeFileSync(`${DOCS}console-${name}.${language}.webp`, Buffer.from(data, 'base64'));
  }
});
