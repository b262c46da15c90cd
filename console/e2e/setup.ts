import type { TestProject } from 'vitest/node';
import { start } from './fermi';
import { startFilled } from './scale/filled';

declare module 'vitest' {
  interface ProvidedContext {
    server: string;
    console: string;
    hasGroups: boolean;
  }
}

/** FERMI_CONSOLE_URL tests a console that runs already; else one is started, with FERMI_FILLED one with much in it. */
export default async function setup(project: TestProject) {
  const running = process.env.FERMI_CONSOLE_URL?.replace(/\/$/, '');
  const fermi = running
    ? {
        server: running,
        console: running,
        hasGroups: (await fetch(`${running}/api/v1/groups`)).ok,
        stop: async () => {},
      }
    : await (process.env.FERMI_FILLED ? startFilled() : start());
  project.provide('server', fermi.server);
  project.provide('console', fermi.console);
  project.provide('hasGroups', fermi.hasGroups);
  return fermi.stop;
}
