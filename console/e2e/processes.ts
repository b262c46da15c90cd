import { type ChildProcess, spawn } from 'node:child_process';

const over = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;
const ended = (child: ChildProcess) =>
  new Promise<void>((resolve) => {
    if (over(child)) resolve();
    else child.once('exit', () => resolve());
  });

/** Programs by name, all of which end with `stop`. */
export class Processes {
  private readonly children = new Map<string, ChildProcess>();

  run(name: string, command: string, args: string[], env: Record<string, string> = {}) {
    this.children.set(name, spawn(command, args, { env: { ...process.env, ...env }, stdio: 'ignore' }));
  }

  /** Asks one to end, and waits for it. */
  async leave(name: string) {
    const child = this.children.get(name);
    if (!child) return;
    child.kill('SIGINT');
    await Promise.race([ended(child), new Promise((resolve) => setTimeout(resolve, 15_000))]);
    if (!over(child)) child.kill('SIGKILL');
    this.children.delete(name);
  }

  /** Ends one as a power cut does. */
  async kill(name: string) {
    const child = this.children.get(name);
    if (!child) return;
    child.kill('SIGKILL');
    await ended(child);
    this.children.delete(name);
  }

  async stop() {
    for (const name of [...this.children.keys()].reverse()) await this.leave(name);
  }
}
