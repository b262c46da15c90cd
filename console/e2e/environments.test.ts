// The page of environments: found, looked at, taken out of service and forgotten.
import { expect } from 'vitest';
import { zh } from '../src/words/zh';
import { test } from './fixture';

const w = zh.environments;

test('filters and order live in the address', async ({ visit, seed }) => {
  const { page, complaints } = await visit(`${seed.console}/environments`);
  await page.getByRole('button', { name: w.filters.gpu }).click();
  await page.getByRole('checkbox', { name: 'V100' }).click();
  await page.keyboard.press('Escape');
  await page.getByText(w.counted('1', '4')).waitFor();
  await page.reload();
  await page.getByText(w.counted('1', '4')).waitFor();
  await page.goto(`${seed.console}/environments?view=table&sort=gpus`);
  const rows = page.getByRole('table', { name: w.title }).getByRole('row');
  await rows.nth(4).waitFor();
  expect(await rows.nth(1).textContent()).toContain('nlp-research-lab');
  expect(complaints).toEqual([]);
});

test('a machine is told how to join', async ({ visit, seed }) => {
  const { page } = await visit(`${seed.console}/environments`);
  await page.getByRole('button', { name: w.join }).click();
  const dialog = page.getByRole('dialog', { name: w.joinTitle });
  await dialog.getByLabel(w.joinName).fill('gn8');
  const address = new URL(seed.console).origin;
  await dialog.getByLabel(w.joinZone).fill('zone-a');
  await dialog.getByLabel(w.labels).fill('team=nlp');
  await dialog
    .getByText(`fermi agent --server ${address} --name gn8 --zone zone-a --label team=nlp`, { exact: true })
    .waitFor();
});

test('what is drained can be resumed; what answers cannot be deleted, what is gone can', async ({ visit, seed }) => {
  const { page } = await visit(`${seed.console}/environments`);
  const card = page.getByRole('article').filter({ hasText: 'cv-experiment-env' });
  const act = async (verb: string) => {
    await card.getByRole('button', { name: w.actionsOf('cv-experiment-env') }).click();
    await page.getByRole('menuitem', { name: verb, exact: true }).click();
  };
  const confirm = (verb: string) => page.getByRole('dialog').getByRole('button', { name: verb, exact: true }).click();
  await act(w.drain);
  await confirm(w.drain);
  await page.getByText(w.done.drain('cv-experiment-env')).first().waitFor();
  await act(w.resume);
  await page.getByText(w.done.resume('cv-experiment-env')).first().waitFor();
  await act(w.delete);
  await confirm(w.delete);
  await page.getByText('开发环境仍在线').first().waitFor();
  await page.getByRole('dialog').getByRole('button', { name: zh.common.cancel }).click();
  await seed.leave('cv-experiment-env');
  await card.getByText('离线').waitFor({ timeout: 60_000 });
  await act(w.delete);
  await confirm(w.delete);
  await page.getByText(w.done.delete('cv-experiment-env')).first().waitFor();
  await card.waitFor({ state: 'detached' });
});

test('from an environment to a task on it', async ({ visit, seed }) => {
  const { page } = await visit(`${seed.console}/environments`);
  await page.getByRole('button', { name: 'llm-training-env', exact: true }).click();
  await page.getByRole('dialog').getByRole('link', { name: w.train }).click();
  await page.getByText(zh.create.chosen('1')).first().waitFor();
  expect(await page.getByRole('checkbox', { name: 'llm-training-env' }).isChecked()).toBe(true);
});
