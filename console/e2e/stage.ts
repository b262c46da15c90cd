// Where a server is played: a folder, an address and processes of its own, all of which end with `stop`.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Processes } from './processes';

export type Stage = { folder: string; processes: Processes; port: number; server: string };

/** What `set` makes of a new stage. Where it fails, the stage is gone. */
export async function onStage<T>(
  name: string,
  set: (stage: Stage) => Promise<T>,
): Promise<T & { stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), `fermi-${name}-`));
  const processes = new Processes();
  const stop = async () => {
    await processes.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const port = await freePort();
    return { ...(await set({ folder, processes, port, server: `http://127.0.0.1:${port}` })), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        address && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}
