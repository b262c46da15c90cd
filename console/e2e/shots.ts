// Pictures of every page. Those of the documents go into docs/images, in both languages; for the eye alone all pages in both
// languages and themes, wide and narrow, go into console/shots.
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CDPSession, Page } from 'playwright-core';
import { beforeAll, expect, inject } from 'vitest';
import { TABS } from '../src/pages/task/search';
import { en } from '../src/words/en';
import { zh } from '../src/words/zh';
import { settled } from './browser';
import { api, until } from './fermi';
import { test } from './fixture';
import { FAILED_PATH, PAGES, TASK_PATH, WAITING_PATH } from './pages';
import { type Picture, picturesOf, prepare } from './pictures';
import { startSeed } from './seed';

const OUT = new URL('../shots/', import.meta.url).pathname;
const DOCS = new URL('../../docs/images/', import.meta.url).pathname;
/** What a picture of the documents may weigh, and all of them together: a clone carries them. */
const MOST_BYTES = 60_000;
const MOST_OF_ALL = 2_500_000;
const QUALITIES = [75, 65, 55, 45];

let pictures: Picture[] = [];
beforeAll(async () => {
  mkdirSync(OUT, { recursive: true });
  const server = inject('server');
  pictures = picturesOf(await prepare(server));
  await until('a training with something to see', async () => {
    const task = await api<{ progress?: { step: number } }>(server, TASK_PATH.replace('/training', '/training-tasks'));
    return (task.progress?.step ?? 0) > 100 ? true : null;
  });
});

const SHOWN = [
  ...PAGES,
  ...TABS.map((tab) => ({ name: `task-${tab}`, path: `${TASK_PATH}?tab=${tab}` })),
  { name: 'task-waiting', path: WAITING_PATH },
  { name: 'task-failed', path: FAILED_PATH },
  { name: 'task-failed-logs', path: `${FAILED_PATH}?tab=logs` },
  { name: 'task-diagnosis-failed', path: `${FAILED_PATH}?tab=diagnosis` },
  { name: 'compare', path: '/training?compare=task-1,task-2' },
  { name: 'environments-table', path: '/environments?view=table' },
  { name: 'environment', path: '/environments?env=env-001' },
  { name: 'create-three', path: '/training/create?env=env-001,env-002,env-003' },
  { name: 'create-auto', path: '/training/create?mode=auto' },
  { name: 'planner-layouts', path: '/planner?model=model-001&env=env-004,env-005&show=layouts' },
  { name: 'settings-users', path: '/settings?tab=users' },
  { name: 'settings-tokens', path: '/settings?tab=tokens' },
  { name: 'settings-join', path: '/settings?tab=join' },
  { name: 'settings-secrets', path: '/settings?tab=secrets' },
  { name: 'settings-webhooks', path: '/settings?tab=webhooks' },
  { name: 'settings-audit', path: '/settings?tab=audit' },
  { name: 'nowhere', path: '/nowhere' },
];
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

test.for(LOOKS)('for the eye: $language $theme $width', async (look, { visit }) => {
  const { page } = await visit(`${inject('console')}/`, look);
  for (const { name, path } of SHOWN.filter(isWanted)) {
    await show(page, path);
    await page.screenshot({ path: `${OUT}${name}.${look.language}.${look.theme}.${look.width}.png` });
  }
});

/** As good as its weight allows. */
async function take(session: CDPSession, name: string, language: string) {
  for (const quality of QUALITIES) {
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality });
    const bytes = Buffer.from(data, 'base64');
    writeFileSync(`${DOCS}console-${name}.${language}.webp`, bytes);
    if (bytes.length <= MOST_BYTES) return;
  }
  throw new Error(`console-${name}.${language}.webp weighs more than ${MOST_BYTES} bytes: let its picture be lower`);
}

test.for(LANGUAGES)('for the documents in %s', async (language, { visit }) => {
  const w = language === 'en' ? en : zh;
  for (const theme of ['light', 'dark'] as const) {
    const { page } = await visit(`${inject('console')}/`, { language, theme });
    const session = await page.context().newCDPSession(page);
    for (const picture of pictures.filter((one) => isWanted(one) && (one.theme ?? 'light') === theme)) {
      const { name, path, height, width = 1280, act } = picture;
      await page.setViewportSize({ width, height });
      await show(page, path);
      if (act) {
        await act(page, w);
        await page.waitForTimeout(500);
      }
      await take(session, name, language);
    }
  }
});

test.runIf(isWanted({ name: 'log-in' }))('for the documents: the log-in', async ({ browser }) => {
  const seed = await startSeed({ asksForToken: true });
  try {
    for (const language of LANGUAGES) {
      const w = language === 'en' ? en : zh;
      // Behind the dialog the page waits for as long as nobody has logged in.
      const context = await browser.newContext({ locale: language, viewport: { width: 1280, height: 560 } });
      const page = await context.newPage();
      await page.goto(`${seed.console}/`);
      await page.getByRole('dialog').getByRole('button', { name: w.shell.logInByName }).click();
      await page.waitForTimeout(800);
      await take(await context.newCDPSession(page), 'log-in', language);
      await context.close();
    }
  } finally {
    await seed.stop();
  }
});

test('the pictures of the documents are light enough for a clone', () => {
  const found = readdirSync(DOCS).filter((name) => name.startsWith('console-'));
  const sum = found.reduce((bytes, name) => bytes + statSync(join(DOCS, name)).size, 0);
  expect(sum).toBeLessThanOrEqual(MOST_OF_ALL);
});
