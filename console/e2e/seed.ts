// A server with the environments of the specification: their names, zones and machines.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { api, binary, consoleOf, ended, freePort, until } from './fermi';

const ENVIRONMENTS = [
  { name: 'pytorch-dev-env', kind: 'jupyter', zone: '北京可用区A', image: 'pytorch', gpus: '2xA100', cpus: 16 },
  { name: 'cv-experiment-env', kind: 'vscode', zone: '北京可用区A', image: 'torchvision', gpus: '2xV100', cpus: 16 },
  { name: 'llm-training-env', kind: 'custom', zone: '深圳可用区C', image: 'transformers', gpus: '4xA100', cpus: 32 },
  { name: 'nlp-research-lab', kind: 'custom', zone: '上海可用区A', image: 'transformers', gpus: '8xA100', cpus: 64 },
];

export type Seed = {
  server: string;
  console: string;
  leave: (name: string) => Promise<void>;
  /** Ends a process as a power cut does. */
  kill: (name: string) => Promise<void>;
  startServer: () => Promise<void>;
  stop: () => Promise<void>;
};

/** With `isPreviewed` the pages come through a proxy of the tests in any case. */
export async function startSeed({ isPreviewed = false } = {}): Promise<Seed> {
  const folder = mkdtempSync(join(tmpdir(), 'fermi-seed-'));
  const children = new Map<string, ChildProcess>();
  const run = (name: string, command: string, args: string[], env: Record<string, string> = {}) => {
    const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: 'ignore' });
    children.set(name, child);
    return child;
  };
  const leave = async (name: string) => {
    const child = children.get(name);
    if (!child) return;
    child.kill('SIGINT');
    await Promise.race([ended(child), new Promise((resolve) => setTimeout(resolve, 15_000))]);
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    children.delete(name);
  };
  const kill = async (name: string) => {
    const child = children.get(name);
    child?.kill('SIGKILL');
    if (child) await ended(child);
    children.delete(name);
  };
  const stop = async () => {
    for (const name of [...children.keys()].reverse()) await leave(name);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const port = await freePort();
    const server = `http://127.0.0.1:${port}`;
    const startServer = async () => {
      run('server', binary(), ['server', '--listen', `127.0.0.1:${port}`, '--data-dir', join(folder, 'server')]);
      await until('the server', async () => ((await fetch(`${server}/livez`)).ok ? true : null));
    };
    await startServer();
    for (const [count, { name, kind, zone, image, gpus, cpus }] of ENVIRONMENTS.entries()) {
      const declared = `gpus=${gpus},cpus=${cpus},memory=${8 * cpus}GiB`;
      const where = ['--server', server, '--data-dir', join(folder, name)];
      const what = ['--name', name, '--kind', kind, '--zone', zone, '--image', image, '--declare', declared];
      run(name, binary(), ['agent', ...where, ...what]);
      await until(name, async () => {
        const { items } = await api<{ items: unknown[] }>(server, '/environments');
        return items.length > count ? true : null;
      });
    }
    const dataset = await api<{ id: string }>(server, '/datasets', { name: 'wikitext-103' });
    await api(server, `/datasets/${dataset.id}/versions`, { version: 'v1', path: '/data/wikitext-103' });
    const shown = await consoleOf(server, (...what) => run('preview', ...what), '', isPreviewed);
    return { server, console: shown, leave, kill, startServer, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
