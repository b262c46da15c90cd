import { expect, test } from 'vitest';
import { argv, commandLine } from './argv';

test.each([
  [['train.py', '--epochs', '3'], 'train.py --epochs 3'],
  [['sh', '-c', "echo 'a'; sleep 1"], "sh -c 'echo '\\''a'\\''; sleep 1'"],
  [['x', '', '中文 名'], "x '' '中文 名'"],
])('%o is %s, and back', (words, line) => {
  expect(commandLine(words)).toBe(line);
  expect(argv(line)).toEqual(words);
});
