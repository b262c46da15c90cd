import { quoted } from './argv';
import { BASE } from './base';
import type { Environment } from './types';

/** What a machine that joins is to be; an empty word is left to the machine. */
export type Joining = {
  name: string;
  zone: string;
  labels: Record<string, string>;
  kind: Environment['kind'];
  workers: string;
  /** What it is said to have, as `gpus=8xA100`. */
  declared?: string;
  /** Where its token is kept. */
  tokenFile?: string;
};

/** How machines reach the server of this page, and by what they know it. */
export type JoinServer = { address: string; fingerprint?: string | null | undefined };

/** The address under which machines reach the server of this page. */
export const serverAddress = () => new URL(BASE, window.location.origin).href.replace(/\/$/, '');

/** The command that makes a machine an environment, as `fermi env join` prints it. A token knows the zone and the labels itself. */
export function joinCommand(server: JoinServer, joining: Partial<Joining>, token?: string): string {
  const { name = '', zone = '', labels = {}, kind, workers = '', declared = '', tokenFile = '' } = joining;
  const own: [string, string][] = token
    ? []
    : [
        ['--zone', zone],
        ...Object.entries(labels).map(([key, value]): [string, string] => ['--label', `${key}=${value}`]),
      ];
  const flags: [string, string][] = [
    ['--server', server.address],
    ['--fingerprint', server.fingerprint ?? ''],
    ['--name', name],
    ...own,
    ['--workers', workers],
    ['--kind', kind === 'custom' ? '' : (kind ?? '')],
    ['--declare', declared],
    ['--token-file', tokenFile],
  ];
  const words = flags.filter(([, value]) => value !== '').map(([flag, value]) => `${flag} ${quoted(value)}`);
  // The words of a command are for everyone on a machine to read; its variables are not.
  return [...(token ? [`FERMI_TOKEN=${token}`] : []), 'fermi agent', ...words].join(' ');
}

/** Labels as they are typed, `team=nlp, tier=a`. What is no label the server refuses. */
export function parseLabels(text: string): Record<string, string> {
  const pairs = text
    .split(/[,，]/)
    .map((pair) => pair.trim())
    .filter(Boolean)
    .map((pair) => pair.split(/=(.*)/).map((part) => part.trim()));
  return Object.fromEntries(pairs.map(([key = '', value = '']) => [key, value]));
}
