// What the lists cost with much in them, in processor time of the page: npm run scale, on a console whose data folder
// fill.py has filled (FERMI_CONSOLE_URL). No frame should take 50 ms.
import type { Page } from 'playwright-core';
import { inject } from 'vitest';
import { zh } from '../../src/words/zh';
import { settled } from '../browser';
import { api } from '../fermi';
import { test } from '../fixture';
import { scroll, worked } from './frames';

const LISTS = [
  { path: '/', scrolls: 'html' },
  { path: '/training', scrolls: 'main [role=table]' },
  { path: '/environments', scrolls: 'main [role=list]' },
  { path: '/environments?view=table', scrolls: 'main [role=table]' },
  { path: '/training/create', scrolls: 'main [role=list]' },
  { path: '/groups', scrolls: 'main [role=table]' },
  { path: '/preflight', scrolls: 'main [role=list]' },
];

test('every list', async ({ visit, browser }) => {
  const table = [];
  for (const { path, scrolls } of LISTS) {
    const { page, close } = await visit(`${inject('console')}/settings`);
    const loading = await worked(browser, page, async () => {
      await page.goto(`${inject('console')}${path}`);
      await settled(page);
    });
    const scrolling = await worked(browser, page, () => scroll(page, scrolls, 120, 120));
    const elements = await page.evaluate(() => document.querySelectorAll('*').length);
    table.push({
      path,
      elements,
      'load ms': loading.totalMs,
      'worst task of load': loading.worstMs,
      'worst frame of scroll': scrolling.worstMs,
      'frames over 50 ms': scrolling.over50,
    });
    await close();
  }
  console.table(table);
});

const RANKS = 4_096;

/** No machine here runs so many ranks: the answers about them are made, the page that draws them is real. */
async function withRanks(page: Page) {
  await page.route(/\/training-tasks\/[^/?]+$/, async (route) => {
    const answer = (await (await route.fetch()).json()) as { data: object };
    await route.fulfill({ json: { ...answer, data: { ...answer.data, worldSize: RANKS } } });
  });
  const states = ['running', 'running', 'running', 'running', 'running', 'running', 'failed'];
  await page.route(/\/training-tasks\/[^/]+\/ranks/, async (route) => {
    const items = Array.from({ length: RANKS }, (_, rank) => ({
      rank,
      localRank: rank % 8,
      nodeRank: Math.floor(rank / 8),
      node: `gn${Math.floor(rank / 8)}`,
      environment: `env-${Math.floor(rank / 8)}`,
      worker: `gn${Math.floor(rank / 8)}-${rank % 8}`,
      state: states[rank % states.length],
      pid: 1_000 + rank,
    }));
    await route.fulfill({ json: { code: 200, message: '', data: { items, nextPageToken: null, total: RANKS } } });
  });
  await page.route(/\/training-tasks\/[^/]+\/metrics/, async (route) => {
    const count = Number(new URL(route.request().url()).searchParams.get('maxPoints'));
    const series = Array.from({ length: RANKS }, (_, rank) => ({
      name: 'stepTimeS',
      rank,
      points: Array.from({ length: count }, (_, at) => ({
        time: 1_790_000_000_000 + at * 5_000,
        step: at,
        value: 0.5 + (rank % 97) / 400 + (at % 13) / 300,
      })),
    }));
    await route.fulfill({ json: { code: 200, message: '', data: { series } } });
  });
}

test('the ranks and the heat map of 4,096 ranks', async ({ visit, browser }) => {
  const base = inject('console');
  const { items } = await api<{ items: { id: string }[] }>(inject('server'), '/training-tasks?pageSize=1');
  const { page } = await visit(`${base}/training/${items[0]?.id}?tab=launch`);
  await withRanks(page);
  const table = [];
  for (const [tab, shown] of [
    [zh.task.ranks, 'main [role=tabpanel] canvas'],
    [zh.task.metrics, 'main figure canvas'],
  ] as const) {
    const drawing = await worked(browser, page, async () => {
      await page.getByRole('tab', { name: tab, exact: true }).click();
      await page.locator(shown).first().waitFor();
      await settled(page);
      await page.waitForTimeout(1_000);
    });
    table.push({ tab, 'all ms': drawing.totalMs, 'worst task': drawing.worstMs });
  }
  console.table(table);
});
