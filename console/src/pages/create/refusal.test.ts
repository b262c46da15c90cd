import { expect, test } from 'vitest';
import { PARTS, partOf } from './refusal';

/** The fields that the server names, in the order in which it checks them. */
const CHECKED = [
  ['taskName', 'name'],
  ['datasetId', 'dataset'],
  ['datasetVersionId', 'dataset'],
  ['distributedConfig.nodeIds', 'environments'],
  ['distributedConfig.masterNode', 'master'],
  ['distributedConfig.framework', 'framework'],
  ['distributedConfig.strategy', 'strategy'],
  ['command.argv', 'work'],
  ['options.masterPort', 'more'],
] as const;

test.each(CHECKED)('%s is shown at %s', (field, part) => expect(partOf({ field })).toBe(part));

test('the page is in the order of the checks', () => {
  const places = CHECKED.map(([field]) => PARTS.indexOf(partOf({ field }) ?? 'more'));
  expect(places).toEqual([...places].sort((a, b) => a - b));
});

test('a refusal without a field has no place', () => expect(partOf({ field: null })).toBeNull());
