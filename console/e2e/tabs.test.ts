// Six tabs at once: a browser has six connections to a server, and streams must leave some of them to requests.
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { zh } from '../src/words/zh';
import { PLAIN_HOST } from './browser';
import { api } from './fermi';
import { test } from './fixture';

test.for([
  { kind: 'a secure address', host: '127.0.0.1' },
  { kind: 'a plain address', host: PLAIN_HOST },
])(
  'on $kind six tabs follow the logs of a task, and another page still opens',
  async ({ host }, { browser, seed, behind }) => {
    const base = (await behind(seed.console)).replace('127.0.0.1', host);
    const { items } = await api<{ items: { id: string; name: string }[] }>(seed.server, '/environments');
    const environment = items.find((item) => item.name === 'llm-training-env');
    const { taskId } = await api<{ taskId: string }>(seed.server, '/training-tasks', {
      taskName: `six-${host}`,
      distributedConfig: { nodeIds: [environment?.id], framework: 'command' },
      command: { argv: ['sh', '-c', 'i=0; while true; do i=$((i+1)); echo "tick $i of $RANK"; sleep 0.5; done'] },
    });
    const context = await browser.newContext({ locale: 'zh-CN', viewport: { width: 1280, height: 900 } });
    const tabs: Page[] = [];
    for (let count = 0; count < 6; count += 1) {
      const page = await context.newPage();
      await page.goto(`${base}/training/${taskId}?tab=logs`, { waitUntil: 'domcontentloaded' });
      tabs.push(page);
    }
    expect(await tabs[0]?.evaluate(() => window.isSecureContext)).toBe(host === '127.0.0.1');
    const newest = async (page: Page) =>
      Number([...((await page.getByRole('log').textContent()) ?? '').matchAll(/tick (\d+) of/g)].pop()?.[1] ?? 0);
    for (const page of tabs) {
      await page
        .getByRole('log')
        .getByText(/tick \d+ of/)
        .first()
        .waitFor({ timeout: 60_000 });
      const before = await newest(page);
      await expect.poll(() => newest(page), { timeout: 30_000 }).toBeGreaterThan(before);
    }
    const seventh = await context.newPage();
    await seventh.goto(`${base}/environments`);
    await seventh.getByText('llm-training-env').first().waitFor({ timeout: 15_000 });
    // What happens reaches all of them over one stream.
    await api(seed.server, `/training-tasks/${taskId}/stop`, { force: true });
    for (const page of tabs)
      await page.getByText(zh.training.phases.stopped, { exact: true }).first().waitFor({ timeout: 30_000 });
    await context.close();
  },
);
