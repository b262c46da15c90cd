import { expect, test } from 'vitest';
import { versionsOf } from './versions';

test('what is not known is left out', () => {
  expect(versionsOf({ versions: { agent: '0.1.0', torch: '2.6.0', cuda: null } })).toEqual([
    ['torch', '2.6.0'],
    ['agent', '0.1.0'],
  ]);
});
