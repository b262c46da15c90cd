// A server that is killed under open pages: they find it again and have missed nothing.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { zh } from '../src/words/zh';
import { api, until } from './fermi';
import { test } from './fixture';

/** So few that all of them are on the page at once. */
const LINES = 30;
const folder = mkdtempSync(join(tmpdir(), 'fermi-restart-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('what a task wrote and how it ended while the server was away is all there', async ({ visit, seed }) => {
  const [go, over] = [join(folder, 'go'), join(folder, 'over')];
  const script = [
    `for i in $(seq 1 ${LINES / 2}); do echo "line $i"; done`,
    `while [ ! -e ${go} ]; do sleep 0.1; done`,
    `for i in $(seq ${LINES / 2 + 1} ${LINES}); do echo "line $i"; done`,
    `touch ${over}.$RANK`,
  ].join('\n');
  const { items } = await api<{ items: { id: string; name: string }[] }>(seed.server, '/environments');
  const environment = items.find((item) => item.name === 'pytorch-dev-env');
  const { taskId } = await api<{ taskId: string }>(seed.server, '/training-tasks', {
    taskName: 'survivor',
    distributedConfig: { nodeIds: [environment?.id], framework: 'command' },
    command: { argv: ['sh', '-c', script] },
  });
  const logs = await visit(`${seed.console}/training/${taskId}?tab=logs&ranks=0`);
  const events = await logs.page.context().newPage();
  await events.goto(`${seed.console}/training/${taskId}?tab=events`);
  await logs.page
    .getByRole('log')
    .getByText(`line ${LINES / 2}`, { exact: true })
    .waitFor({ timeout: 30_000 });
  await expect.poll(() => logs.page.getByRole('banner').getByRole('status').textContent()).toContain(zh.shell.live);

  await seed.kill('server');
  await logs.page.getByText(zh.shell.muteTitle).waitFor({ timeout: 60_000 });
  writeFileSync(go, '');
  await until('the end of the task', async () => (existsSync(`${over}.0`) && existsSync(`${over}.1`) ? true : null));
  await seed.startServer();

  await logs.page.getByText(zh.shell.muteTitle).waitFor({ state: 'detached', timeout: 60_000 });
  await logs.page.getByText(zh.task.succeeded, { exact: true }).first().waitFor({ timeout: 60_000 });
  await logs.page.getByRole('log').getByText(`line ${LINES}`, { exact: true }).waitFor({ timeout: 30_000 });
  const text = ((await logs.page.getByRole('log').textContent()) ?? '')
    .replaceAll('line', ' line')
    .matchAll(/line (\d+)/g);
  const shown = [...text].map((found) => Number(found[1]));
  expect(shown).toEqual(Array.from({ length: LINES }, (_, index) => index + 1));

  const told = await api<{ items: { text: { 'zh-CN': string } }[] }>(
    seed.server,
    `/training-tasks/${taskId}/events?pageSize=500`,
  );
  const list = events.getByRole('tabpanel');
  for (const event of told.items) await list.getByText(event.text['zh-CN'], { exact: true }).first().waitFor();
});
