import { expect, test } from 'vitest';
import { lastLine } from './useRanks';

const chunk = (stream: 'stdout' | 'stderr', text: string) => ({ stream, text });
const BOTH = [chunk('stdout', 'step 3\n'), chunk('stderr', 'RuntimeError: no\n')];

test.each([
  ['bars are folded, colours are left out', [chunk('stdout', '\r10%\r\u001b[32m20%\u001b[0m\n')], false, '20%'],
  ['a warning is not the last word of one that runs', BOTH, false, 'step 3'],
  ['but the error is of one that failed', BOTH, true, 'RuntimeError: no'],
  ['who wrote errors alone is heard', [chunk('stderr', 'only this\n')], false, 'only this'],
  ['who wrote nothing has no last line', [], true, ''],
])('%s', (_, chunks, isFailed, expected) => {
  expect(lastLine(chunks, isFailed)).toBe(expected);
});
