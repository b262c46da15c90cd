import { expect, inject } from 'vitest';
import { api } from './fermi';
import { test } from './fixture';

const base = inject('console');
const server = inject('server');

test('what happens is shown in all tabs, over one stream', async ({ visit }) => {
  const { page } = await visit(`${base}/`);
  const streams: string[] = [];
  page.context().on('request', (request) => {
    if (request.url().endsWith('/api/v1/events')) streams.push(request.url());
  });
  const other = await page.context().newPage();
  await other.goto(`${base}/datasets`);
  await other.locator('main h1').waitFor();
  const { items } = await api<{ items: { id: string; name: string }[] }>(server, '/environments');
  const environment = items.find((item) => item.name === 'nlp-research-lab') ?? items[0];
  const taskName = `live-${Date.now().toString(36)}`;
  await api(server, '/training-tasks', {
    taskName,
    distributedConfig: { nodeIds: [environment?.id], framework: 'command' },
    command: { argv: ['sleep', '20'] },
  });
  await page.getByRole('link', { name: taskName, exact: true }).waitFor({ timeout: 15_000 });
  await other.bringToFront();
  await other.goto(`${base}/`);
  await other.getByRole('link', { name: taskName, exact: true }).waitFor({ timeout: 15_000 });
  expect(streams).toEqual([]);
});

test('what is created in a form is listed, and a refusal names its field', async ({ visit }) => {
  const { page } = await visit(`${base}/models`);
  await page.getByRole('button', { name: '登记模型' }).click();
  await page.getByRole('button', { name: '新建', exact: true }).click();
  await page.locator('[role="alert"]').first().waitFor();
  const name = `model-${Date.now().toString(36)}`;
  await page.getByLabel('名称').fill(name);
  await page.getByRole('button', { name: '新建', exact: true }).click();
  await page.getByRole('heading', { level: 2, name }).waitFor();
});
