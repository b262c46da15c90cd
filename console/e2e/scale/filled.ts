// A server with 100,000 tasks and 1,000 environments: two of its tasks and one machine are real, the others copies of them.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { api, binary, consoleOf, type Fermi, until } from '../fermi';
import { onStage } from '../stage';

const FILL = new URL('fill.py', import.meta.url).pathname;

export function startFilled(): Promise<Fermi> {
  return onStage('scale', async ({ folder, processes, port, server }) => {
    const data = join(folder, 'server');
    const startServer = async () => {
      processes.run('server', binary(), ['server', '--no-token', '--listen', `127.0.0.1:${port}`, '--data-dir', data]);
      await until('the server', async () => ((await fetch(`${server}/livez`)).ok ? true : null));
    };
    await startServer();
    const declared = ['--declare', 'gpus=8xA100,cpus=128,memory=1024GiB'];
    const where = ['--server', server, '--data-dir', join(folder, 'gn0001')];
    processes.run('agent', binary(), ['agent', '--name', 'gn0001', '--zone', '北京可用区A', ...where, ...declared]);
    const environment = await until('the environment', async () => {
      const { items } = await api<{ items: { id: string }[] }>(server, '/environments');
      return items[0]?.id ?? null;
    });
    for (const [taskName, end] of Object.entries({ succeeded: 'true', failed: 'exit 1' })) {
      const { taskId } = await api<{ taskId: string }>(server, '/training-tasks', {
        taskName,
        distributedConfig: { nodeIds: [environment], framework: 'command' },
        command: { argv: ['sh', '-c', `echo step 1; ${end}`] },
      });
      await until(taskName, async () => {
        const { status } = await api<{ status: string }>(server, `/training-tasks/${taskId}`);
        return status === taskName ? true : null;
      });
    }
    await processes.leave('server');
    execFileSync('python3', [FILL, data], { stdio: 'inherit' });
    await startServer();
    return { server, console: await consoleOf(server, processes), hasGroups: true };
  });
}
