// Pictures of every page in both languages and themes, wide and narrow, into console/shots; docs/images has the one of the README.
import { copyFileSync, mkdirSync } from 'node:fs';
import { beforeAll, inject } from 'vitest';
import { TABS } from '../src/pages/task/search';
import { settled } from './browser';
import { test } from './fixture';
import { FAILED_PATH, PAGES, TASK_PATH, WAITING_PATH } from './pages';

const OUT = new URL('../shots/', import.meta.url).pathname;
const DOCS = new URL('../../docs/images/', import.meta.url).pathname;
const IN_README = { 'zh-CN': 'light', en: 'dark' };
beforeAll(() => void mkdirSync(OUT, { recursive: true }));

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
  { name: 'create-auto', path: '/training/create?mode=auto' },
  { name: 'settings-users', path: '/settings?tab=users' },
  { name: 'settings-tokens', path: '/settings?tab=tokens' },
  { name: 'settings-join', path: '/settings?tab=join' },
  { name: 'settings-secrets', path: '/settings?tab=secrets' },
  { name: 'settings-webhooks', path: '/settings?tab=webhooks' },
  { name: 'settings-audit', path: '/settings?tab=audit' },
  { name: 'nowhere', path: '/nowhere' },
];
const LOOKS = (['zh-CN', 'en'] as const).flatMap((language) =>
  (['light', 'dark'] as const).flatMap((theme) =>
    [
      { width: 1280, height: 900 },
      { width: 390, height: 844 },
    ].map((size) => ({ language, theme, ...size })),
  ),
);
/** FERMI_SHOTS names some pages, with commas between them. */
const ONLY = process.env.FERMI_SHOTS?.split(',');

test.for(LOOKS)('$language $theme $width', async (look, { visit }) => {
  const { page } = await visit(`${inject('console')}/`, look);
  for (const { name, path } of SHOWN.filter((one) => ONLY?.includes(one.name) ?? true)) {
    await page.goto(`${inject('console')}${path}`);
    await settled(page);
    // Charts and maps are drawn when their data has come.
    await page.waitForTimeout(800);
    const file = `${OUT}${name}.${look.language}.${look.theme}.${look.width}.png`;
    await page.screenshot({ path: file });
    if (look.width === 1280 && IN_README[look.language] === look.theme && name === 'task-failed') {
      copyFileSync(file, `${DOCS}console-task.${look.language}.png`);
    }
  }
});
