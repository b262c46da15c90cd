// The whole way of a group: made, filled, configured, its ranks seen, started.
import { expect, inject } from 'vitest';
import { zh } from '../src/words/zh';
import { test } from './fixture';

const TEST_LAUNCH = new URL('../../examples/test_launch.py', import.meta.url).pathname;
// The name of the configuration where every node resolves it; here none does, and the proven address stands for it.
const MASTER = '127.0.0.1';

test.runIf(inject('hasGroups'))('workers become a group with ranks', async ({ visit }) => {
  const { page, complaints } = await visit(`${inject('console')}/groups`);
  const words = zh.groups;
  const name = `组-${Date.now().toString(36)}`;
  await page.getByRole('button', { name: words.create }).click();
  await page.getByLabel(words.name).fill(name);
  await page.getByRole('button', { name: zh.common.create, exact: true }).click();
  await page.getByRole('button', { name, exact: true }).waitFor();

  for (const worker of ['gn7-0', 'gn7-1', 'gn6-0', 'gn6-1']) {
    await page.getByRole('searchbox', { name: words.searchWorkers }).fill(worker);
    await page.getByRole('checkbox', { name: worker, exact: true }).click();
  }
  await page.getByText(words.selected('4')).waitFor();
  await page.getByRole('button', { name: words.moveTo }).click();
  await page.getByRole('menuitem', { name }).click();
  await page.getByText(words.moved('4', name)).waitFor();

  const card = page.getByRole('listitem').filter({ has: page.getByRole('button', { name, exact: true }) });
  await card.getByRole('button', { name: words.config }).click();
  const dialog = page.getByRole('dialog', { name: words.configTitle(name) });
  await dialog.getByLabel(words.master).fill('gn6');
  expect(await dialog.getByLabel(words.port).inputValue()).toBe('29500');
  await dialog.getByRole('button', { name: words.saveConfig }).click();
  await dialog.waitFor({ state: 'detached' });

  const table = page.getByRole('region', { name: words.ranks });
  await table.getByRole('row', { name: 'gn7-1' }).waitFor();
  const rows = await table.getByRole('row').allTextContents();
  expect(rows.slice(1).map((row) => row.replace(/\s+/g, ''))).toEqual([
    'gn6-00004',
    'gn6-11104',
    'gn7-02014',
    'gn7-13114',
  ]);

  // The check of the launch, as every rank says it.
  await card.getByRole('button', { name: words.start, exact: true }).click();
  const start = page.getByRole('dialog', { name: words.startTitle(name) });
  await start.getByLabel(words.taskName).fill(name);
  await start.getByLabel(words.command).fill(`python3 ${TEST_LAUNCH}`);
  await start.getByRole('button', { name: words.start, exact: true }).click();
  await page.getByText(words.started).first().waitFor();
  await page.waitForURL(/\/training\/task-/);
  await page.getByRole('tab', { name: zh.task.logs, exact: true }).click();
  const log = page.getByRole('log');
  for (const [rank, local] of [0, 1, 0, 1].entries()) {
    const line = `[Rank ${rank}] World Size: 4, Local Rank: ${local}, Master Addr: ${MASTER}`;
    await log.getByText(line, { exact: true }).waitFor({ timeout: 60_000 });
  }
  expect(complaints).toEqual([]);
});
