import { readFileSync } from 'node:fs';
import { expect, inject } from 'vitest';
import { SAMPLE } from '../src/pages/task/tabs/metrics/sample';
import { zh } from '../src/words/zh';
import { PLAIN_HOST, settled } from './browser';
import { api, training, until } from './fermi';
import { test } from './fixture';
import { TASK_PATH, WAITING_PATH } from './pages';

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

test('what a rank was started with is shown, and how it differs from rank 0', async ({ visit }) => {
  const id = await create('started-with', 'exit 0');
  await expect
    .poll(async () => (await api<{ status: string }>(server, `/training-tasks/${id}`)).status, { timeout: 40_000 })
    .toBe('succeeded');
  const { page } = await visit(`${base}/training/${id}?tab=launch`);
  await page.getByText("sh -c 'exit 0'").waitFor();
  const variables = page.getByRole('region', { name: /变量/ });
  expect(await variables.getByRole('row', { name: /^LOCAL_RANK 0$/ }).count()).toBe(1);
  await page.getByLabel('rank', { exact: true }).fill('1');
  await variables.getByRole('row', { name: /^LOCAL_RANK 1 0$/ }).waitFor();
  expect(page.url()).toContain('rank=1');
  await page.getByRole('checkbox', { name: /只看与 rank 0 不同的/ }).click();
  expect(await variables.getByRole('row', { name: /^MASTER_PORT/ }).count()).toBe(0);
  await page.getByLabel('搜索变量').fill('local_rank');
  expect(await variables.getByRole('row').count()).toBe(2);
  await page.getByText('启动方案').click();
  await page.getByText(/尖括号/).waitFor();
  await page.reload();
  await page.getByText(/尖括号/).waitFor();
});

test('what waits shows what it asks for', async ({ visit }) => {
  const { page } = await visit(`${base}${WAITING_PATH}`);
  const facts = page.locator('section').filter({ has: page.getByRole('heading', { name: zh.task.facts }) });
  await facts.getByText('pytorch-dev-env', { exact: true }).waitFor();
  await facts.getByText(zh.task.wanted('2'), { exact: true }).waitFor();
});

test('an attempt that there is none of gives way to the newest, with a word', async ({ visit }) => {
  const { page } = await visit(`${base}${TASK_PATH}?tab=logs&attempt=99`);
  await page.getByText(zh.task.attemptMissing('99')).waitFor();
  await page
    .getByRole('log')
    .getByText(/step \d+/)
    .first()
    .waitFor();
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

test('several tasks at once are deleted in one call', async ({ visit }) => {
  const ids = [await create('gone-one', 'true'), await create('gone-two', 'true')];
  const statusOf = (id: string) =>
    api<{ status: string }>(server, `/training-tasks/${id}`).then(({ status }) => status);
  for (const id of ids) await expect.poll(() => statusOf(id), { timeout: 40_000 }).toBe('succeeded');
  const { page } = await visit(`${base}/training?q=gone-`);
  for (const name of ['gone-one', 'gone-two']) await page.getByRole('checkbox', { name: new RegExp(name) }).click();
  await page.getByRole('toolbar').getByRole('button', { name: zh.training.moreActions }).click();
  await page.getByRole('menuitem', { name: zh.training.delete }).click();
  await page.getByRole('dialog').getByRole('button', { name: zh.training.delete, exact: true }).click();
  await page.getByText(zh.training.deleted('2')).first().waitFor();
  await page.getByText(zh.training.noMatch).waitFor();
  for (const id of ids) await expect(statusOf(id)).rejects.toThrow();
});

test('a copy is edited before it becomes a task', async ({ visit }) => {
  const id = await create('original', 'echo first');
  const { page } = await visit(`${base}/training/${id}`);
  await page.getByRole('button', { name: zh.task.clone, exact: true }).click();
  await page.waitForURL(/\/training\/create\?from=/);
  const name = page.getByRole('textbox', { name: zh.create.name });
  await expect.poll(() => name.inputValue()).toBe('original-copy');
  const command = page.getByLabel(zh.create.command, { exact: true });
  expect(await command.inputValue()).toBe("sh -c 'echo first'");
  await name.fill('edited');
  await command.fill("sh -c 'echo second'");
  await page.getByRole('button', { name: zh.create.submit }).first().click();
  await page.getByRole('heading', { level: 1, name: 'edited' }).waitFor();
  await page.getByRole('tab', { name: zh.task.logs, exact: true }).click();
  await page.getByRole('log').getByText('second', { exact: true }).first().waitFor({ timeout: 30_000 });
});

test('tasks are compared in one chart, by steps and by time', async ({ visit }) => {
  const ids = [await create('course-a', training(1)), await create('course-b', training(2))];
  const other = ids[1] as string;
  // One waits for the other: it begins when the first is stopped.
  const steps = (id: string) =>
    until(`steps of ${id}`, async () => {
      const { progress } = await api<{ progress?: { step: number } }>(server, `/training-tasks/${id}`);
      return (progress?.step ?? 0) > 5 ? true : null;
    });
  await steps(ids[0] as string);
  await stop(ids[0] as string);
  await steps(other);
  const { page, complaints } = await visit(`${base}/training?q=course-`);
  for (const name of ['course-a', 'course-b']) await page.getByRole('checkbox', { name: new RegExp(name) }).click();
  await page.getByRole('toolbar').getByRole('link', { name: zh.training.compare }).click();
  const chart = page.locator('figure').filter({ hasText: zh.training.loss });
  for (const id of ids)
    await chart
      .locator('li')
      .filter({ hasText: id })
      .getByText(/\d\.\d/)
      .waitFor();
  const head = chart.getByRole('columnheader').first();
  expect(await head.textContent()).toBe(zh.task.stepHead);
  await page.getByText(zh.task.byTime, { exact: true }).click();
  await page.waitForURL(/x=time/);
  await expect.poll(() => head.textContent()).toBe(zh.task.elapsed);
  expect(complaints).toEqual([]);
  await stop(other);
});

test('what ranks wrote is saved as a file, of all ranks or of one', async ({ visit, behind }) => {
  const id = await create('saved', 'for i in 1 2 3; do echo "line $i of $RANK"; done');
  // Where pages may not choose a file, as at an address that is not secure, the browser saves it.
  const plain = (await behind(base)).replace('127.0.0.1', PLAIN_HOST);
  const { page } = await visit(`${plain}/training/${id}?tab=logs`);
  await page.getByRole('log').getByText('line 3 of 1', { exact: true }).waitFor({ timeout: 30_000 });
  const saved = async () => {
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: zh.logs.download }).click(),
    ]);
    return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') };
  };
  const lines = (rank: number) => [1, 2, 3].map((line) => `line ${line} of ${rank}\n`).join('');
  const all = await saved();
  expect(all.name).toBe(`${id}.log`);
  expect(all.text).toContain(lines(0));
  expect(all.text).toContain(lines(1));
  await page.getByLabel(zh.logs.ranks).fill('1');
  await page.waitForURL(/ranks=/);
  expect(await saved()).toEqual({ name: `${id}-rank-1.log`, text: lines(1) });
});

test('what the empty page says to write is drawn', async ({ visit }) => {
  const silent = await create('silent', 'sleep 60');
  const { page } = await visit(`${base}/training/${silent}?tab=metrics`);
  const shown = page.getByText(SAMPLE.split('\n')[0] as string);
  await shown.waitFor();
  await stop(silent);
  const script = [
    'took = 0.5',
    'for step in range(1, 20):',
    '    loss = 9 / step',
    ...SAMPLE.split('\n').map((line) => `    ${line}`),
  ];
  const id = await create('reports', `python3 -c '${script.join('\n')}'; sleep 60`);
  await page.goto(`${base}/training/${id}?tab=metrics`);
  await page.locator('figure').filter({ hasText: zh.task.series.loss }).first().waitFor({ timeout: 60_000 });
  await page.getByText(zh.task.stepOnly('19')).first().waitFor();
  await stop(id);
});

test('progress that cannot be drawn says what it lacks', async ({ visit }) => {
  const line = '{"step":1,"totalSteps":9,"loss":2}';
  const id = await create('timeless', `echo '${line}' >> "$FERMI_PROGRESS_FILE"; sleep 60`);
  const { page } = await visit(`${base}/training/${id}?tab=metrics`);
  await page.getByText(zh.task.noCourses, { exact: true }).waitFor({ timeout: 60_000 });
  await stop(id);
});
