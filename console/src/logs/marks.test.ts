import { expect, test } from 'vitest';
import { parts } from './marks';

test.each([
  ['loss 1 Loss', 'loss', ['[loss]', ' 1 ', '[Loss]']],
  ['none', 'x', ['none']],
  ['aaa', 'a', ['[a]', '[a]', '[a]']],
  ['text', '', ['text']],
])('%s with %s', (text, query, wanted) => {
  expect(parts(text, query).map((part) => (part.isMatch ? `[${part.text}]` : part.text))).toEqual(wanted);
});
