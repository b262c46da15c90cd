// What takes minutes, by FERMI_LONG=<minutes of flood>: a log of ten million lines, and a tab that follows a flood.
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { zh } from '../src/words/zh';
import { api, until } from './fermi';
import { test } from './fixture';

const MINUTES = Number(process.env.FERMI_LONG ?? 0);
/** What is written or followed, and some minutes around it. */
const LASTS = (MINUTES + 20) * 60_000;
const LINES = 10_000_000;
/** Where words stand that are looked for. */
const PLACES = { 'needle-early': 1_000, 'needle-middle': LINES / 2, 'needle-late': LINES - 10 };

async function create(server: string, taskName: string, where: string, script: string): Promise<string> {
  const { items } = await api<{ items: { id: string; name: string }[] }>(server, '/environments');
  const environment = items.find((item) => item.name === where);
  const { taskId } = await api<{ taskId: string }>(server, '/training-tasks', {
    taskName,
    distributedConfig: {
      nodeIds: [environment?.id],
      framework: 'command',
      workers: { [environment?.id ?? '']: [0] },
    },
    command: { argv: ['sh', '-c', script] },
  });
  return taskId;
}

/** From the Enter key to the first match on the page, as the page's own clock has it. */
async function search(page: Page, text: string): Promise<number> {
  const field = page.getByLabel('搜索全部日志');
  await field.fill('');
  await page.waitForTimeout(500);
  const took = page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let begin = Number.NaN;
        const pressed = ({ timeStamp }: KeyboardEvent) => {
          begin = timeStamp;
        };
        addEventListener('keydown', pressed, { capture: true, once: true });
        const watcher = new MutationObserver(() => {
          const told = [...document.querySelectorAll('main [role=status]')].map((status) => status.textContent);
          if (!told.some((status) => status?.startsWith('– / 1'))) return;
          watcher.disconnect();
          resolve(performance.now() - begin);
        });
        watcher.observe(document.body, { subtree: true, childList: true, characterData: true });
      }),
  );
  // What is typed is looked for with the key, not after the pause in which one may type on.
  await field.evaluate((input: HTMLInputElement, value) => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(input, value);
    input.dispatchEvent(new Event('input', { bubbles: true }));
    input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
  }, text);
  return Math.round(await took);
}

test.runIf(MINUTES > 0)(
  'ten million lines are searched while more come',
  { timeout: LASTS },
  async ({ visit, seed }) => {
    const words = Object.entries(PLACES).map(([word, at]) => `if (i == ${at}) word = "${word}"`);
    const line =
      'printf "step %08d %s rank 0 loss 1.2345 tokens/s 84000 lr 0.0003 memory 61.2 GiB grad 0.71 eta 03:12:44\\n", i, word';
    const awk = `BEGIN { for (i = 1; i <= ${LINES}; i++) { word = "plain-words"; ${words.join('; ')}; ${line} } }`;
    const id = await create(
      seed.server,
      'long-log',
      'pytorch-dev-env',
      `awk '${awk}'; while true; do echo "tick of rank 0"; sleep 0.5; done`,
    );
    const begun = Date.now();
    const { page } = await visit(`${seed.console}/training/${id}?tab=logs`);
    await page.getByRole('log').getByText('tick of rank 0').first().waitFor({ timeout: 600_000 });
    const written = Math.round((Date.now() - begun) / 1000);
    const found: Record<string, number> = {};
    for (const word of Object.keys(PLACES)) found[word] = await search(page, word);
    // How long until the first match is on the page, in milliseconds.
    console.table([{ lines: LINES, 'seconds until written and shown': written, ...found }]);
    for (const word of Object.keys(PLACES)) expect(found[word], word).toBeLessThan(1_000);
    await page.getByLabel('下一处匹配').click();
    await page.locator('mark', { hasText: 'needle-late' }).waitFor();
    await api(seed.server, `/training-tasks/${id}/stop`, { force: true });
  },
);

test.runIf(MINUTES > 0)(
  'the memory of a tab that follows a flood stays flat',
  { timeout: LASTS },
  async ({ visit, seed }) => {
    const flood =
      'BEGIN { while (1) { for (n = 0; n < 500; n++) printf "flood %09d of rank 0 loss 1.2345 tokens/s 84000\\n", ++i; fflush(); system("sleep 0.1") } }';
    const id = await create(seed.server, 'flood', 'cv-experiment-env', `awk '${flood}'`);
    const { page } = await visit(`${seed.console}/training/${id}?tab=logs`);
    await page
      .getByRole('log')
      .getByText(/flood \d+/)
      .first()
      .waitFor({ timeout: 60_000 });
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    const heap = async () => {
      await session.send('HeapProfiler.collectGarbage');
      const { metrics } = await session.send('Performance.getMetrics');
      return (metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? 0) / 2 ** 20;
    };
    const newest = async () =>
      Number([...((await page.getByRole('log').textContent()) ?? '').matchAll(/flood (\d+) of/g)].pop()?.[1] ?? 0);
    // The window of lines is full before it is measured.
    await until('twenty thousand lines', async () => ((await newest()) > 20_000 ? true : null));
    const samples: number[] = [];
    const from = await newest();
    for (const end = Date.now() + MINUTES * 60_000; Date.now() < end; ) {
      samples.push(await heap());
      await page.waitForTimeout(5_000);
    }
    const third = Math.floor(samples.length / 3);
    const mean = (part: number[]) => part.reduce((sum, one) => sum + one, 0) / Math.max(part.length, 1);
    const [first, last] = [mean(samples.slice(0, third)), mean(samples.slice(-third))];
    const table = {
      minutes: MINUTES,
      lines: (await newest()) - from,
      'first third MiB': first,
      'last third MiB': last,
    };
    console.table([table]);
    expect(await newest()).toBeGreaterThan(from);
    expect(last).toBeLessThan(first * 1.15 + 1);
    await page.getByText(zh.task.running, { exact: true }).first().waitFor();
    await api(seed.server, `/training-tasks/${id}/stop`, { force: true });
  },
);
