// A server with the environments of the specification: their names, zones and machines.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { api, binary, consoleOf, until } from './fermi';
import { onStage } from './stage';

const ENVIRONMENTS = [
  { name: 'pytorch-dev-env', kind: 'jupyter', zone: '北京可用区A', image: 'pytorch', gpus: '2xA100', cpus: 16 },
  { name: 'cv-experiment-env', kind: 'vscode', zone: '北京可用区A', image: 'torchvision', gpus: '2xV100', cpus: 16 },
  { name: 'llm-training-env', kind: 'custom', zone: '深圳可用区C', image: 'transformers', gpus: '4xA100', cpus: 32 },
  { name: 'nlp-research-lab', kind: 'custom', zone: '上海可用区A', image: 'transformers', gpus: '8xA100', cpus: 64 },
];

export type Seed = {
  server: string;
  /** The server's own, where it asks for one. */
  token: string | undefined;
  console: string;
  /** Another machine, with what its agent is given. */
  join: (name: string, flags: string[], env: Record<string, string>) => void;
  leave: (name: string) => Promise<void>;
  /** As a power cut does. */
  kill: (name: string) => Promise<void>;
  startServer: () => Promise<void>;
  stop: () => Promise<void>;
};

/** Everyone may do everything there, unless it asks for a token; with a prefix its pages are behind a proxy. */
export function startSeed({ asksForToken = false, prefix = '' } = {}): Promise<Seed> {
  return onStage('seed', async ({ folder, processes, port, server }) => {
    const startServer = async () => {
      const open = asksForToken ? [] : ['--no-token'];
      const where = ['--listen', `127.0.0.1:${port}`, '--data-dir', join(folder, 'server')];
      processes.run('server', binary(), ['server', ...where, ...open]);
      await until('the server', async () => ((await fetch(`${server}/livez`)).ok ? true : null));
    };
    await startServer();
    const tokenFile = join(folder, 'server', 'token');
    const token = asksForToken ? readFileSync(tokenFile, 'utf8').trim() : undefined;
    const proof = asksForToken ? ['--token-file', tokenFile] : [];
    for (const [count, { name, kind, zone, image, gpus, cpus }] of ENVIRONMENTS.entries()) {
      const declared = `gpus=${gpus},cpus=${cpus},memory=${8 * cpus}GiB`;
      const where = ['--server', server, '--data-dir', join(folder, name), ...proof];
      const what = ['--name', name, '--kind', kind, '--zone', zone, '--image', image, '--declare', declared];
      processes.run(name, binary(), ['agent', ...where, ...what]);
      await until(name, async () => {
        const { items } = await api<{ items: unknown[] }>(server, '/environments', undefined, token);
        return items.length > count ? true : null;
      });
    }
    const dataset = await api<{ id: string }>(server, '/datasets', { name: 'wikitext-103' }, token);
    const version = { version: 'v1', path: 's3://corpora/wikitext-103' };
    await api(server, `/datasets/${dataset.id}/versions`, version, token);
    const come = (name: string, flags: string[], env: Record<string, string>) =>
      processes.run(name, binary(), ['agent', '--data-dir', join(folder, name), ...flags], env);
    const leave = (name: string) => processes.leave(name);
    const kill = (name: string) => processes.kill(name);
    const shown = await consoleOf(server, processes, prefix);
    return { server, token, console: shown, join: come, leave, kill, startServer };
  });
}
