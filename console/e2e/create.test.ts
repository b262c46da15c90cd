// The create page: the three scenarios of the specification, word for word, and what goes with them.
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { api } from './fermi';
import { test } from './fixture';

const SUBMIT = '创建并启动训练';
const summary = (page: Page) =>
  page.locator('section').filter({ has: page.getByRole('heading', { name: '配置摘要' }) });
const name = (page: Page) => page.getByRole('textbox', { name: '任务名称' });
const tick = (page: Page, environment: string) =>
  page.getByRole('checkbox', { name: environment, exact: true }).click();

async function choose(page: Page, names: string[]) {
  await page.getByRole('radio', { name: /使用现有开发环境/ }).check();
  for (const environment of names) await tick(page, environment);
  await page.getByText(`已选 ${names.length}`).first().waitFor();
}

async function shows(page: Page, lines: string[]) {
  const card = summary(page);
  for (const line of lines) await card.getByText(line, { exact: true }).first().waitFor();
}

/** A name, data, and a command that lets the machine be. */
async function complete(page: Page, taskName: string) {
  await name(page).fill(taskName);
  await page.getByRole('combobox', { name: '数据集' }).click();
  await page.getByRole('option', { name: /wikitext-103/ }).click();
  await page.getByLabel('命令', { exact: true }).fill('true');
}

async function creates(page: Page, description: string) {
  await page.getByRole('button', { name: SUBMIT }).first().click();
  await page.getByText('训练任务创建成功').first().waitFor();
  await page.getByText(description).first().waitFor();
  await page.waitForURL(/\/training\/task-/);
  return new URL(page.url()).pathname.split('/').at(-1) ?? '';
}

type Spec = { spec: { distributed: { nodeIds: string[]; masterNode: string; framework: string } } };

test('场景1: 单机训练', async ({ visit, seed }) => {
  const { page, complaints } = await visit(`${seed.console}/training/create`);
  await choose(page, ['pytorch-dev-env']);
  await shows(page, ['单机训练', '2 个 (A100)', '16 核', '128 GB', '快速启动，预计 10 秒内开始训练', '2xA100']);
  expect(await page.getByText('分布式训练配置').count()).toBe(0);
  expect(await page.getByText('主节点').count()).toBe(0);
  await complete(page, 'scene-1');
  await creates(page, '使用环境: pytorch-dev-env');
  expect(complaints).toEqual([]);
});

test('场景2: 分布式训练（同一可用区）', async ({ visit, seed }) => {
  const { page } = await visit(`${seed.console}/training/create`);
  await choose(page, ['pytorch-dev-env', 'cv-experiment-env']);
  await shows(page, ['分布式训练', '2 个', '4 个 (A100, V100)', '32 核', '256 GB', '分布式训练 · 使用 PyTorch DDP']);
  expect(await summary(page).getByText('跨可用区').count()).toBe(0);
  await page.getByRole('heading', { name: '分布式训练配置' }).waitFor();
  await page.getByText('分布式训练将在多个节点上并行执行，确保所有节点网络互通').waitFor();
  await summary(page)
    .getByText(/GPU 型号不一致（A100、V100）/)
    .waitFor();
  expect(
    await summary(page)
      .getByRole('img', { name: /^Rank \d/ })
      .count(),
  ).toBe(4);
  await complete(page, 'scene-2');
  await creates(page, '分布式训练 · 2个节点 · 总计4个GPU');
});

test('场景3: 跨可用区分布式训练', async ({ visit, seed }) => {
  const { page } = await visit(`${seed.console}/training/create`);
  await choose(page, ['pytorch-dev-env', 'llm-training-env', 'nlp-research-lab']);
  await shows(page, [
    '分布式训练',
    '3 个',
    '14 个 (A100)',
    '112 核',
    '896 GB',
    '跨可用区',
    '跨可用区训练可能会有网络延迟',
  ]);
  const zones = summary(page)
    .locator('div')
    .filter({ has: page.getByText('跨可用区', { exact: true }) });
  expect((await zones.last().textContent())?.replace(/\s/g, '')).toBe('跨可用区3个');
  await page.getByLabel('分布式框架').click();
  await page.getByRole('option', { name: /DeepSpeed/ }).click();
  await shows(page, ['分布式训练 · 使用 DeepSpeed']);
  await complete(page, 'scene-3');
  const id = await creates(page, '分布式训练 · 3个节点 · 总计14个GPU');
  const { spec } = await api<Spec>(seed.server, `/training-tasks/${id}`);
  expect(spec.distributed).toMatchObject({ framework: 'deepspeed', masterNode: spec.distributed.nodeIds[0] });

  // The same once more, by its address: a clone holds what the task had.
  await page.goto(`${seed.console}/training/create?from=${id}`);
  await page.getByText('已选 3').first().waitFor();
  expect(await name(page).inputValue()).toBe('scene-3-copy');
  await shows(page, ['14 个 (A100)', '分布式训练 · 使用 DeepSpeed']);
});

test('the badge goes to the next when the master is unticked, and to whom one chooses', async ({ visit, seed }) => {
  const { page } = await visit(`${seed.console}/training/create`);
  const master = (name: string) => page.getByRole('group', { name }).getByText('主节点');
  await choose(page, ['pytorch-dev-env', 'cv-experiment-env', 'llm-training-env']);
  await master('pytorch-dev-env').waitFor();
  await tick(page, 'pytorch-dev-env');
  await master('cv-experiment-env').waitFor();
  await page.getByLabel('主节点').click();
  await page.getByRole('option', { name: 'llm-training-env' }).click();
  await master('llm-training-env').waitFor();
  expect(await master('cv-experiment-env').count()).toBe(0);
  // The whole card toggles, and with shift a range.
  await page.getByRole('button', { name: '取消全选' }).click();
  await page.getByRole('group', { name: 'pytorch-dev-env' }).getByText('2x A100').click();
  await page
    .getByRole('group', { name: 'nlp-research-lab' })
    .getByText('8x A100')
    .click({ modifiers: ['Shift'] });
  await page.getByText('已选 4').first().waitFor();
});

test('what lacks is said in the order of the specification', async ({ visit, seed }) => {
  const { page } = await visit(`${seed.console}/training/create`);
  const submit = page.getByRole('button', { name: SUBMIT }).first();
  const refused = (text: string) => page.locator('main [role="alert"]').filter({ hasText: text }).first().waitFor();
  await submit.click();
  await refused('请输入任务名称');
  await name(page).fill('order');
  await submit.click();
  await refused('请选择数据集');
  await page.getByRole('combobox', { name: '数据集' }).click();
  await page.getByRole('option', { name: /wikitext-103/ }).click();
  await submit.click();
  await refused('请至少选择一个开发环境');
});

test('a draft survives a reload, and the three texts follow it', async ({ visit, seed }) => {
  const { page } = await visit(`${seed.console}/training/create`);
  await choose(page, ['llm-training-env', 'pytorch-dev-env']);
  await name(page).fill('draft-1');
  await page.getByRole('tab', { name: '命令行' }).click();
  await page.reload();
  await page.getByText('已选 2').first().waitFor();
  const text = page.locator('pre');
  await text.getByText('--master llm-training-env').waitFor();
  await name(page).fill('draft-2');
  await text.getByText('--name draft-2').waitFor();
  await page.getByRole('tab', { name: 'cURL' }).click();
  await text.getByText('"taskName": "draft-2"').waitFor();
  await page.getByRole('tab', { name: 'YAML' }).click();
  await text.getByText('taskName: draft-2').waitFor();
  // What one looks at stays in sight: the texts are at the end of the page.
  expect(await page.evaluate(() => window.scrollY)).toBeGreaterThan(0);
});

test('the server picks, and what waits says for whom and until when', async ({ visit, seed }) => {
  const { page } = await visit(`${seed.console}/training/create`);
  await page.getByRole('radio', { name: /自动选择/ }).check();
  await name(page).fill('picked');
  await page.getByLabel('每节点').fill('8');
  await page.getByLabel('时限（小时）').fill('2');
  await page.getByLabel('命令', { exact: true }).fill('sleep 600');
  const queue = summary(page).getByRole('status', { name: '排队' });
  await queue.getByText('可以立即启动').waitFor();
  await queue.getByText(/选择 nlp-research-lab \(8\)/).waitFor();
  await page.getByRole('tab', { name: '命令行' }).click();
  await page.locator('pre').getByText('--gpus-per-node 8').waitFor();
  const first = await creates(page, '训练任务创建成功');
  await page.getByText('运行中', { exact: true }).first().waitFor();

  await page.goto(`${seed.console}/training/create?from=${first}`);
  await summary(page)
    .getByText(/需要排队/)
    .waitFor();
  await creates(page, '训练任务创建成功');
  const why = page.locator('main').getByRole('status').filter({ hasText: '最迟启动' });
  await why.getByText('没有任务，下一个就是它').waitFor();
  expect(await why.getByRole('link', { name: first, exact: true }).count()).toBe(1);
  await page.getByText('1 个节点，每个 8 个 GPU').waitFor();
});

test('environments of one zone are left by its filter, and one that is offline cannot be ticked', async ({
  visit,
  seed,
}) => {
  const { page } = await visit(`${seed.console}/training/create?zone=北京可用区A`);
  await page.getByRole('checkbox', { name: 'cv-experiment-env' }).waitFor();
  expect(await page.getByRole('checkbox', { name: /-(env|lab)$/ }).count()).toBe(2);
  await seed.leave('cv-experiment-env');
  await page.getByRole('group', { name: 'cv-experiment-env' }).getByText(/^离线/).first().waitFor({ timeout: 60_000 });
  await page.getByRole('group', { name: 'cv-experiment-env' }).getByText('2x V100').click();
  await page.getByText('已选 0').first().waitFor();
});

test('a clone of a task that does not exist says so', async ({ visit, seed }) => {
  const { page } = await visit(`${seed.console}/training/create?from=task-999`);
  await page.locator('main [role="alert"]').first().waitFor();
});

test('a recipe goes by the training.yaml of the page', async ({ visit, seed }) => {
  const { page } = await visit(`${seed.console}/training/create`);
  await choose(page, ['nlp-research-lab']);
  await name(page).fill('by-recipe');
  await page.getByText('训练配方', { exact: true }).click();
  await page.getByRole('combobox', { name: '算法' }).click();
  await page.getByRole('option', { name: /^DPO/ }).click();
  const file = page.getByLabel('training.yaml');
  expect(await file.inputValue()).toContain('beta: 0.1');
  await file.fill('training: [');
  await page.getByText(/不是有效的 YAML/).waitFor();
  const submit = page.getByRole('button', { name: SUBMIT }).first();
  expect(await submit.getAttribute('aria-disabled')).toBe('true');
  await file.fill(
    'model: {name_or_path: preset:opt-125m}\ndata: {train: /data/pairs.jsonl}\ntraining: {max_steps: 3}\n',
  );
  await page.getByRole('tab', { name: '命令行' }).click();
  await page.locator('pre').getByText('--recipe dpo').waitFor();
  await page.locator('pre').getByText('max_steps: 3').waitFor();
  const id = await creates(page, '使用环境: nlp-research-lab');
  const { spec } = await api<{ spec: { work: unknown; options: { training: unknown } } }>(
    seed.server,
    `/training-tasks/${id}`,
  );
  expect(spec.work).toMatchObject({ kind: 'recipe', name: 'dpo' });
  expect(spec.options.training).toMatchObject({ training: { max_steps: 3 } });
  await page.goto(`${seed.console}/training/create?from=${id}`);
  await expect.poll(() => page.getByLabel('training.yaml').inputValue()).toContain('max_steps: 3');
});
