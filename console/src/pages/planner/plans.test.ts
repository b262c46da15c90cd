import { expect, test } from 'vitest';
import { partsOf, scaling, type Term } from './plans';
import { readSearch } from './search';

test('efficiency is counted from the first that is known', () => {
  const points = scaling([
    { nodes: 1, gpus: 4, name: null, tokensPerS: null },
    { nodes: 2, gpus: 8, name: 'DDP', tokensPerS: 80 },
    { nodes: 4, gpus: 16, name: 'DDP', tokensPerS: 144 },
  ]);
  expect(points).toEqual([
    { gpus: 8, name: 'DDP', tokensPerS: 80, efficiency: 1 },
    { gpus: 16, name: 'DDP', tokensPerS: 144, efficiency: 0.9 },
  ]);
  expect(scaling([])).toEqual([]);
});

const memory = (of: Partial<Record<Term, number>>): Record<Term, number> => ({
  parameters: 0,
  gradients: 0,
  optimizer: 0,
  activations: 0,
  logits: 0,
  transient: 0,
  context: 0,
  ...of,
});

test('a bar is as long as the card, or as what is needed where that is more', () => {
  expect(partsOf(memory({ parameters: 20, context: 4 }), 80)).toEqual([
    { term: 'parameters', gib: 20, share: 0.25 },
    { term: 'context', gib: 4, share: 0.05 },
  ]);
  expect(partsOf(memory({ optimizer: 160 }), 80)).toEqual([{ term: 'optimizer', gib: 160, share: 1 }]);
});

test('numbers of the address are whole and above nothing', () => {
  expect(readSearch({ seq: '4096', batch: -3, precision: 'fp16', show: 'layouts', x: 1 })).toEqual({
    seq: 4096,
    precision: 'fp16',
    show: 'layouts',
  });
  expect(readSearch({ seq: 1.5, precision: 'bf16', show: 'strategies' })).toEqual({});
});
