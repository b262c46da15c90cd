import { expect, inject } from 'vitest';
import { settled } from './browser';
import { api } from './fermi';
import { test } from './fixture';

const base = inject('console');
const server = inject('server');

async function create(taskName: string, script: string): Promise<string> {
  const { items } = await api<{ items: { id: string; name: string }[] }>(server, '/environments');
  const environment = items.find((item) => item.name === 'nlp-research-lab') ?? items[0];
  const { taskId } = await api<{ taskId: string }>(server, '/training-tasks', {
    taskName,
    distributedConfig: { nodeIds: [environment?.id], framework: 'command' },
    command: { argv: ['sh', '-c', script] },
  });
  return taskId;
}

const stop = (id: string) => api(server, `/training-tasks/${id}/stop`, { force: true });

test('logs are live, bars are folded, and ranks can be filtered', async ({ visit }) => {
  const bar = "printf '\\r10%%\\r55%%\\r100%%\\n'";
  const script = `for i in $(seq 1 300); do ${bar}; echo "tick $i of rank $RANK"; sleep 0.3; done`;
  const id = await create('live-logs', script);
  const { page, complaints } = await visit(`${base}/training/${id}?tab=logs`);
  const log = page.getByRole('log');
  const newest = async () =>
    Number([...((await log.textContent()) ?? '').matchAll(/tick (\d+) of rank 0/g)].pop()?.[1] ?? 0);
  await log
    .getByText(/tick \d+ of rank 0/)
    .first()
    .waitFor({ timeout: 30_000 });
  const before = await newest();
  await expect.poll(newest, { timeout: 20_000 }).toBeGreaterThan(before + 2);
  await log.getByText('100%').first().waitFor();
  expect(await log.getByText('55%').count()).toBe(0);
  await page.getByLabel(/进程筛选/).fill('1');
  await page.waitForURL(/ranks=/);
  await log
    .getByText(/of rank 1/)
    .first()
    .waitFor();
  await expect.poll(() => log.getByText(/of rank 0/).count()).toBe(0);
  expect(complaints).toEqual([]);
  await stop(id);
});

test('a search counts its matches, and a reload keeps line and text', async ({ visit }) => {
  const id = await create('searched', 'for i in $(seq 1 5000); do echo "line $i of rank $RANK"; done');
  const { page } = await visit(`${base}/training/${id}?tab=logs`);
  await page
    .getByRole('log')
    .getByText(/line 5000 of rank/)
    .first()
    .waitFor({ timeout: 30_000 });
  await page.getByLabel('搜索全部日志').fill('line 77 of rank 0');
  await page.getByText('– / 1').waitFor();
  await page.getByLabel('下一处匹配').click();
  await page.getByText('1 / 1').waitFor();
  await page.locator('mark').waitFor();
  const address = page.url();
  expect(address).toContain('line=');
  await page.reload();
  await page.locator('mark', { hasText: 'line 77 of rank 0' }).waitFor();
  expect(page.url()).toBe(address);
});

test('from a red square to the diagnosis, in both languages', async ({ visit }) => {
  const id = await create('fails', 'if [ "$RANK" = 1 ]; then echo "RuntimeError: boom" >&2; exit 3; fi; sleep 30');
  const { page } = await visit(`${base}/training/${id}`);
  await page.getByText('失败', { exact: true }).first().waitFor({ timeout: 30_000 });
  await page.getByRole('link', { name: /^rank 1 / }).click();
  await page.getByRole('log').getByText('RuntimeError: boom').waitFor();
  await page.getByRole('button', { name: '查看诊断' }).click();
  await page.getByRole('tab', { name: '诊断', selected: true }).waitFor();
  await page
    .getByText(/rank 1/)
    .first()
    .waitFor();
  await page.getByRole('button', { name: /EN/ }).click();
  await page.getByRole('tab', { name: 'Diagnosis', selected: true }).waitFor();
  await page.reload();
  await settled(page);
  await page.getByRole('tab', { name: 'Diagnosis', selected: true }).waitFor();
});

test('several tasks are stopped in one call, and filters live in the address', async ({ visit }) => {
  const ids = [await create('bulk-one', 'sleep 60'), await create('bulk-two', 'sleep 60')];
  const { page } = await visit(`${base}/training?q=bulk-`);
  const calls: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') calls.push(new URL(request.url()).pathname);
  });
  for (const name of ['bulk-one', 'bulk-two'])
    await page
      .getByRole('checkbox', { name: new RegExp(name) })
      .first()
      .click();
  await page.getByRole('button', { name: '停止', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: '停止', exact: true }).click();
  await page.getByText(/已请求停止 2 个任务/).waitFor();
  expect(calls).toEqual(['/api/v1/training-tasks/bulk']);
  for (const id of ids) {
    await expect
      .poll(async () => (await api<{ status: string }>(server, `/training-tasks/${id}`)).status, { timeout: 40_000 })
      .toBe('stopped');
  }
});
