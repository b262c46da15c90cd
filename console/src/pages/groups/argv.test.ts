import { expect, test } from 'vitest';
import { argv } from './argv';

test.each([
  ['', []],
  ['  train.py --epochs 3 ', ['train.py', '--epochs', '3']],
  ["sh -c 'echo $RANK; sleep 1'", ['sh', '-c', 'echo $RANK; sleep 1']],
  ['a "b \\" c" d\\ e', ['a', 'b " c', 'd e']],
  ["x ''", ['x', '']],
  ["x 'y", null],
])('%s', (line, words) => expect(argv(line)).toEqual(words));
