import type { ApiError } from '~/api/error';

/** The parts of the page, in the order in which they are checked and shown. */
export const PARTS = ['name', 'dataset', 'environments', 'master', 'framework', 'strategy', 'work', 'more'] as const;
export type Part = (typeof PARTS)[number];

const FIELDS: [prefix: string, part: Part][] = [
  ['taskName', 'name'],
  ['dataset', 'dataset'],
  ['modelId', 'dataset'],
  ['launchMode', 'environments'],
  ['distributedConfig.nodeIds', 'environments'],
  ['distributedConfig.enabled', 'environments'],
  ['distributedConfig.workers', 'environments'],
  ['distributedConfig.masterNode', 'master'],
  ['distributedConfig.framework', 'framework'],
  ['distributedConfig.strategy', 'strategy'],
  ['command.secrets', 'more'],
  ['command', 'work'],
  ['recipe', 'work'],
];

/** Where on the page something was refused; what has no place of its own is among the further settings. */
export function partOf(error: Pick<ApiError, 'field'>): Part | null {
  const { field } = error;
  if (field === null) return null;
  return FIELDS.find(([prefix]) => field.startsWith(prefix))?.[1] ?? 'more';
}

/** The element that is scrolled to and focused. */
export const anchor = (part: Part) => `create-${part}`;
