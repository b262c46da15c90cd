// The planner's page: whether a model fits, how full each GPU is, all layouts, and how it scales.
import { expect } from 'vitest';
import { zh } from '../src/words/zh';
import { api } from './fermi';
import { test } from './fixture';

const w = zh.planner;

test('a model is planned on machines, strategy by strategy and layout by layout', async ({ visit, seed }) => {
  for (const name of ['llama2-7b', 'llama2-70b', 'nobody-knows']) await api(seed.server, '/models', { name });
  const { page, complaints } = await visit(`${seed.console}/planner`);
  await page.getByText(w.choose).waitFor();
  await page.getByLabel(w.model).click();
  await page.getByRole('option', { name: /^llama2-7b/ }).click();
  await page.getByRole('checkbox', { name: 'nlp-research-lab' }).click();
  const table = page.getByRole('region', { name: w.layouts });
  await table
    .getByRole('row', { name: /DeepSpeed ZeRO-2/ })
    .getByText(w.fits, { exact: true })
    .filter({ visible: true })
    .first()
    .waitFor();
  expect(await table.getByRole('img', { name: new RegExp(w.terms.optimizer) }).count()).toBeGreaterThan(3);

  // More machines make a curve; the address holds all of it.
  await page.getByRole('checkbox', { name: 'llm-training-env' }).click();
  const curve = page.getByRole('table').filter({ hasText: w.efficiency });
  await expect.poll(() => curve.getByRole('row').count()).toBe(3);
  await page.getByText(w.allLayouts, { exact: true }).click();
  await expect.poll(() => table.getByRole('row').count()).toBe(21);
  await page.getByLabel(w.sequence).fill('8192');
  await page.waitForURL(/seq=8192/);
  await page.reload();
  await expect.poll(() => page.getByLabel(w.sequence).inputValue()).toBe('8192');
  await expect.poll(() => table.getByRole('row').count()).toBe(21);

  // From the plan to a task there.
  await page.getByRole('link', { name: w.train }).click();
  await page.getByText(zh.create.chosen('2')).first().waitFor();
  await page
    .locator('pre')
    .getByText(/modelId: /)
    .waitFor();
  expect(complaints).toEqual([]);
});

test('what is too large says so, and what would do', async ({ visit, seed }) => {
  const { items } = await api<{ items: { id: string; name: string }[] }>(seed.server, '/models');
  const id = (name: string) => items.find((one) => one.name === name)?.id ?? '';
  const { page } = await visit(`${seed.console}/planner?model=${id('llama2-70b')}&env=env-001`);
  await page.getByText(w.noChoice).waitFor();
  await page.getByText(/用 \d+ 张同样的 GPU/).waitFor();
  await page.goto(`${seed.console}/planner?model=${id('nobody-knows')}&env=env-001`);
  await page
    .getByRole('alert')
    .getByText(/规划器不知道此模型的参数/)
    .waitFor();
  await page.goto(`${seed.console}/planner?model=${id('llama2-7b')}&env=env-001,env-003&batch=1`);
  await page
    .getByRole('alert')
    .getByText(/全局批次/)
    .waitFor();
});
