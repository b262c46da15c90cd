import { expect, test } from 'vitest';
import { bare, nearest, spans } from './ansi';

test('colours become spans with the names of tokens', () => {
  expect(spans('\u001b[31mred\u001b[0m plain \u001b[1;32mgood\u001b[m')).toEqual([
    { text: 'red', look: 'text-bad' },
    { text: ' plain ', look: '' },
    { text: 'good', look: 'text-good font-semibold' },
  ]);
});

test('large palettes become the nearest of the eight', () => {
  expect(spans('\u001b[38;5;196mx')[0]?.look).toBe('text-bad');
  expect(spans('\u001b[38;2;10;200;20mx')[0]?.look).toBe('text-good');
  expect(spans('\u001b[48;5;21mx')[0]?.look).toBe('bg-accent-soft');
  expect([nearest(255, 255, 255), nearest(0, 0, 0), nearest(255, 255, 0)]).toEqual([7, 0, 3]);
});

test('other codes vanish, half of one stays as it is', () => {
  expect(bare('\u001b[2K\u001b[1Aup\u001b]0;title\u0007!')).toBe('up!');
  expect(bare('cut \u001b[3')).toBe('cut \u001b[3');
  expect(spans('')).toEqual([]);
  expect(spans('\u001b[90m<script>')).toEqual([{ text: '<script>', look: 'text-faint' }]);
});
