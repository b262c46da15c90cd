// The real binary with real agents, and a little for its pages to show. Everything ends with `stop`.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Processes } from './processes';
import { freePort, onStage } from './stage';

const ROOT = new URL('../..', import.meta.url).pathname;

export type Fermi = { server: string; console: string; hasGroups: boolean; stop: () => Promise<void> };

export function binary(): string {
  const found = [process.env.FERMI, join(ROOT, 'target/release/fermi')].find((path) => path && existsSync(path));
  if (!found) throw new Error('no fermi: run `make build`, or name the binary by FERMI');
  return found;
}

export async function until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  for (const begin = Date.now(); Date.now() - begin < 60_000; ) {
    const found = await look().catch(() => null);
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  throw new Error(`${what} did not come about within a minute`);
}

export async function api<T>(server: string, path: string, body?: unknown, token?: string): Promise<T> {
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  const init =
    body === undefined
      ? { headers }
      : { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(`${server}/api/v1${path}`, init);
  const answer = (await response.json()) as { data: T; message: string };
  if (!response.ok) throw new Error(`${path}: ${answer.message}`);
  return answer.data;
}

/** The console that the binary carries; with FERMI_DIST, or where it carries none, dist/ served the same way. */
export async function consoleOf(server: string, processes: Processes, prefix = ''): Promise<string> {
  const page = await fetch(server, { headers: { accept: 'text/html' } }).then((response) => response.text());
  if (!process.env.FERMI_DIST && prefix === '' && page.includes('assets/')) return server;
  const port = String(await freePort());
  const env = { FERMI_SERVER: server, PORT: port, PREFIX: prefix };
  processes.run('preview', process.execPath, [join(ROOT, 'console/scripts/preview.mjs')], env);
  const address = `http://127.0.0.1:${port}${prefix}`;
  await until('the preview', async () => ((await fetch(`${address}/`)).ok ? true : null));
  return address;
}

/** What looks like a training that goes on for a while: its loss falls towards a floor. */
export function training(floor = 1.2): string {
  const report = '{"time":%s,"step":%d,"totalSteps":3000,"loss":%.4f,"tokensPerS":%d,"stepTimeS":%.3f,"lr":0.0003}\\n';
  // One rank is slow now and then, so that a map of step times has something to tell.
  const numbers = [
    'srand(r * 7919 + i)',
    `loss = ${floor} + 6 / (1 + i / 20) + 0.15 * rand()`,
    'time = 0.46 + 0.05 * rand()',
    'if (r == 3 && i % 40 > 25) time *= 1.9',
    'print loss, 84000 + int(3000 * rand()), time',
  ].join('; ');
  return [
    'for i in $(seq 1 3000); do',
    `set -- $(awk -v r=$RANK -v i=$i 'BEGIN { ${numbers} }')`,
    'echo "step $i/3000 loss $1 rank $RANK"',
    `printf '${report}' "$(date +%s.%N)" $i $1 $2 $3 >> "$FERMI_PROGRESS_FILE"`,
    'sleep 0.5; done',
  ].join('\n');
}

type Named = { items: { id: string; name: string }[] };

const come = (server: string, count: number) =>
  until(`${count} environments`, async () => {
    const page = await api<Named>(server, '/environments');
    return page.items.length >= count ? page.items : null;
  });

/** Environments of the specification, machines with declared GPUs, and a training that goes on. */
async function fill(server: string) {
  const dataset = await api<{ id: string }>(server, '/datasets', {
    name: 'wikitext-103',
    description: '英文维基百科语料',
  });
  const version = await api<{ id: string }>(server, `/datasets/${dataset.id}/versions`, {
    version: 'v1',
    path: 's3://corpora/wikitext-103',
  });
  await api(server, '/datasets', { name: '中文指令数据', description: '指令微调样本' });
  await api(server, '/models', { name: 'llama2-7b', path: '/models/llama2-7b', description: 'Llama 2, 7B' });
  const environments = await come(server, 5);
  const id = (name: string) => environments.find((environment) => environment.name === name)?.id;
  const create = (taskName: string, names: string[], command: unknown, options = {}) =>
    api<{ taskId: string }>(server, '/training-tasks', {
      taskName,
      datasetId: dataset.id,
      datasetVersionId: version.id,
      distributedConfig: { nodeIds: names.map(id), masterNode: id(names[0] ?? ''), framework: 'command' },
      command,
      ...options,
    });
  await create('bert-finetune', ['nlp-research-lab'], { argv: ['sh', '-c', 'echo epoch 1; echo done'] });
  await create('gpt-pretrain', ['pytorch-dev-env', 'llm-training-env'], { argv: ['sh', '-c', training()] });
  await create('llama-sft', ['pytorch-dev-env'], { argv: ['sh', '-c', 'true'] });
  const boom = 'echo "Traceback (most recent call last):" >&2; echo "RuntimeError: CUDA error: device-side assert" >&2';
  const fails = `echo "loading data"; if [ "$RANK" = 1 ]; then ${boom}; exit 1; fi; sleep 30`;
  const failing = await create('vision-ablation', ['nlp-research-lab'], { argv: ['sh', '-c', fails] });
  await until('the failure', async () => {
    const { status } = await api<{ status: string }>(server, `/training-tasks/${failing.taskId}`);
    return status === 'failed' ? true : null;
  });
}

export function start(): Promise<Fermi> {
  return onStage('console', async ({ folder, processes, port, server }) => {
    const places = [
      'pytorch-dev-env:北京可用区A:2:jupyter',
      'llm-training-env:深圳可用区C:2:vscode',
      'nlp-research-lab:上海可用区A:2:ssh',
    ];
    const where = ['--listen', `127.0.0.1:${port}`, '--data-dir', join(folder, 'up')];
    processes.run('up', binary(), ['up', '--no-token', ...where, ...places.flatMap((place) => ['--env', place])]);
    await until('the server', async () => ((await fetch(`${server}/livez`)).ok ? true : null));
    // Those of the specification come first, so that every run has the same ids.
    await come(server, places.length);
    for (const [at, name] of ['gn6', 'gn7'].entries()) {
      const declared = ['--declare', 'gpus=8xA100,cpus=128,memory=1024GiB'];
      const what = ['--name', name, '--zone', '北京可用区B', ...declared];
      processes.run(name, binary(), ['agent', '--server', server, '--data-dir', join(folder, name), ...what]);
      await come(server, places.length + at + 1);
    }
    await fill(server);
    const hasGroups = (await fetch(`${server}/api/v1/groups`)).ok;
    return { server, console: await consoleOf(server, processes), hasGroups };
  });
}
