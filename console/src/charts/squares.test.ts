import { expect, test } from 'vitest';
import { byNode, place, rankAt } from './squares';

test('squares stand by node, ranks in order', () => {
  const squares = [
    { rank: 1, node: 'a' },
    { rank: 2, node: 'b' },
    { rank: 0, node: 'a' },
  ];
  expect(byNode(squares).map(({ name, squares: list }) => [name, list.map((square) => square.rank)])).toEqual([
    ['a', [0, 1]],
    ['b', [2]],
  ]);
});

test('a point finds the square that is drawn there', () => {
  for (const at of [0, 95, 96, 4_095]) {
    const { x, y } = place(at, 96, 9);
    expect(rankAt(x + 4, y + 4, 96, 9)).toBe(at);
  }
  expect(rankAt(96 * 9 + 1, 3, 96, 9)).toBe(-1);
});
