// Ranks of PyTorch of which one does not come: the page says who, and shows where all of them stand.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { en } from '../src/words/en';
import { zh } from '../src/words/zh';
import { api, until } from './fermi';
import { test } from './fixture';

/** What has torch: `make venv` makes the one of the home folder. */
const PYTHON = process.env.FERMI_TEST_PYTHON ?? join(homedir(), '.cache/fermi/venv/bin/python');
const SCRIPT = new URL('../../tests/ranks/torch_hang.py', import.meta.url).pathname;
const RANKS = [0, 1, 2];
const folder = mkdtempSync(join(tmpdir(), 'fermi-hang-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.runIf(existsSync(PYTHON))(
  'a rank that others wait for is named, with the stacks of all',
  async ({ visit, seed }) => {
    const { items } = await api<{ items: { id: string; name: string }[] }>(seed.server, '/environments');
    const environment = items.find((item) => item.name === 'llm-training-env')?.id ?? '';
    const { taskId } = await api<{ taskId: string }>(seed.server, '/training-tasks', {
      taskName: 'hangs',
      distributedConfig: { nodeIds: [environment], framework: 'command', workers: { [environment]: RANKS } },
      command: { argv: [SCRIPT, folder], interpreter: PYTHON, env: { GLOO_SOCKET_IFNAME: 'lo' } },
    });
    const { page } = await visit(`${seed.console}/training/${taskId}?tab=diagnosis`);
    await until('the ranks train', async () => (existsSync(join(folder, 'saved')) ? true : null));
    writeFileSync(join(folder, 'late'), '');
    const panel = page.getByRole('tabpanel');
    await panel
      .getByText(/rank 1 .*没有进入/)
      .first()
      .waitFor();

    await panel.getByRole('button', { name: zh.task.stacksAsk, exact: true }).click();
    const where = (ranks: string) =>
      panel.locator('section').filter({ has: page.getByRole('heading', { name: `rank ${ranks}`, exact: true }) });
    await where('1')
      .getByText(/comes_late/)
      .first()
      .waitFor();
    // The others wait at the same line, and are told of once.
    await where('0, 2')
      .last()
      .getByText(/all_reduce/)
      .first()
      .waitFor();
    expect(
      await where('1')
        .last()
        .getByText(/all_reduce/)
        .count(),
    ).toBe(0);

    await page.getByRole('button', { name: /EN/ }).click();
    await panel.getByRole('button', { name: en.task.stacksAgain }).waitFor();
    await panel
      .getByText(/rank 1 has not entered/i)
      .first()
      .waitFor();

    // It comes after all: nothing hangs, and the training ends.
    rmSync(join(folder, 'late'));
    writeFileSync(join(folder, 'end'), '');
    await page.getByText('succeeded', { exact: true }).first().waitFor();
  },
);
