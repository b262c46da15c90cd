import { expect, test } from 'vitest';
import { fold, foldOn } from './fold';

test.each([
  ['plain', 'plain', 0],
  ['\r10%\r20%\r30%', '30%', 2],
  ['done\r', 'done', 0],
  ['\r', '', 0],
])('%j folds to %j', (line, text, folded) => expect(fold(line)).toEqual({ text, folded }));

test('a bar that is written piece by piece folds as if it came at once', () => {
  let bar = { text: '', folded: 0 };
  for (const piece of ['\r10', '%', '\r', '20%', '\r30%']) bar = foldOn(bar, piece);
  expect(bar).toEqual({ text: '30%', folded: 2 });
});
