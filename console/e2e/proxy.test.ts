// A proxy that passes an answer on when it is complete: the stream stays silent there, and pages ask instead.
import { expect } from 'vitest';
import { zh } from '../src/words/zh';
import { api } from './fermi';
import { test } from './fixture';

test('behind a proxy that collects answers the page asks again and again, and says so', async ({
  visit,
  seed,
  behind,
}) => {
  const through = await behind(seed.console, { isCollecting: true });
  const { page } = await visit(`${through}/training`);
  await page.getByText(zh.shell.muteTitle).waitFor({ timeout: 60_000 });
  expect(await page.getByRole('banner').getByRole('status').textContent()).toContain(zh.shell.mute);
  const { items } = await api<{ items: { id: string; name: string }[] }>(seed.server, '/environments');
  const { taskId } = await api<{ taskId: string }>(seed.server, '/training-tasks', {
    taskName: 'behind-a-proxy',
    distributedConfig: { nodeIds: [items.find(({ name }) => name === 'pytorch-dev-env')?.id], framework: 'command' },
    command: { argv: ['sh', '-c', 'for i in 1 2 3; do echo "line $i of $RANK"; done; sleep 600'] },
  });
  await page.getByRole('link', { name: 'behind-a-proxy', exact: true }).waitFor({ timeout: 20_000 });
  // The log of a task that runs is a stream too.
  const logs = await page.context().newPage();
  await logs.goto(`${through}/training/${taskId}?tab=logs`);
  await logs.getByRole('log').getByText('line 3 of 0', { exact: true }).waitFor({ timeout: 60_000 });
  await api(seed.server, `/training-tasks/${taskId}/stop`, { force: true });
  await page.getByText(zh.training.phases.stopped, { exact: true }).first().waitFor({ timeout: 30_000 });
  await logs.getByText(zh.training.phases.stopped, { exact: true }).first().waitFor({ timeout: 30_000 });
});
