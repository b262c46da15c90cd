import { expect, test } from 'vitest';
import { byteLength, lineKey, type Piece, parseLineKey, withoutBytes } from './line';
import { burst, interleave } from './order';
import { LogWindow } from './window';

const piece = (rank: number, offset: number, text: string): Piece => ({
  attempt: 1,
  rank,
  stream: 'stdout',
  offset,
  nextOffset: offset + byteLength(text),
  text,
});
const texts = (window: LogWindow) => window.lines.map((line) => line.text);

test('lines that come in pieces keep their key', () => {
  const window = new LogWindow();
  window.append([piece(0, 0, 'one\ntw')]);
  const key = window.lines[1]?.key;
  window.append([piece(0, 6, 'o\nthree')]);
  expect(texts(window)).toEqual(['one', 'two', 'three']);
  expect(window.lines[1]?.key).toBe(key);
  expect(window.lines.map((line) => line.isOpen)).toEqual([false, false, true]);
});

test('what was known is not shown twice', () => {
  const window = new LogWindow();
  window.append([piece(0, 0, 'a\nb\n')]);
  window.append([piece(0, 0, 'a\nb\n'), piece(0, 2, 'b\nc\n')]);
  expect(texts(window)).toEqual(['a', 'b', 'c']);
});

test('a line that comes in two pieces of the first burst is one', () => {
  const window = new LogWindow();
  window.append([piece(0, 0, 'ab'), piece(1, 0, 'x\n'), piece(0, 2, 'c\nd\n')]);
  expect(texts(window)).toEqual(['abc', 'd', 'x']);
});

test('who is far behind goes on near the end, as if all had been read', () => {
  const whole = Array.from({ length: 400 }, (_, at) => `line ${at}\n`).join('');
  // Cut where lines are not: pieces of 1 to 97 bytes.
  const pieces: Piece[] = [];
  for (let at = 0, size = 1; at < whole.length; at += size, size = ((size * 31) % 97) + 1)
    pieces.push(piece(0, at, whole.slice(at, at + size)));
  const [slow, fast] = [new LogWindow(10), new LogWindow(10)];
  for (const one of pieces) slow.append([one]);
  fast.append(pieces.slice(0, 3));
  fast.append(pieces.slice(3));
  expect(fast.lines).toEqual(slow.lines);
  expect([...fast.reaches.values()]).toEqual([...slow.reaches.values()]);
  fast.append([piece(0, whole.length, 'last\n')]);
  expect(texts(fast)).toEqual([391, 392, 393, 394, 395, 396, 397, 398, 399].map((at) => `line ${at}`).concat('last'));
});

test('a stream of which everything is behind the window is not read again', () => {
  const window = new LogWindow(2);
  window.append([piece(1, 0, 'quiet\nhalf'), piece(0, 0, 'a\nb\nc\nd\n')]);
  expect(texts(window)).toEqual(['c', 'd']);
  window.append([piece(1, 10, ' a line\n')]);
  expect(window.reaches.get('1.1.stdout')).toMatchObject({ next: 18 });
});

test('bars are folded while they grow', () => {
  const window = new LogWindow();
  window.append([piece(0, 0, '\r10%\r2')]);
  window.append([piece(0, 6, '0%\r30%\nnext\r\n')]);
  expect(window.lines.map(({ text, folded }) => [text, folded])).toEqual([
    ['30%', 2],
    ['next', 0],
  ]);
});

test('the window is bounded at the front while it follows', () => {
  const window = new LogWindow(3);
  window.append([piece(0, 0, 'a\nb\n'), piece(1, 0, 'x\n')]);
  window.append([piece(0, 4, 'c\nd\n')]);
  expect(window.lines).toHaveLength(3);
  expect(window.reaches.get('1.0.stdout')?.first).toBe(4);
  expect(window.canGoBack).toBe(true);
});

test('older lines come before, whole ones only, and push out the newest', () => {
  const window = new LogWindow(4);
  window.append([piece(0, 10, 'five\nsix\n')]);
  window.prepend([piece(0, 1, 'ne\ntwo\n四\n')]);
  expect(texts(window)).toEqual(['two', '四', 'five', 'six']);
  expect(window.reaches.get('1.0.stdout')?.first).toBe(4);
  window.prepend([piece(0, 0, 'one\n')]);
  expect(texts(window)).toEqual(['one', 'two', '四', 'five']);
  expect(window.isCutAtEnd).toBe(true);
  expect(window.reaches.get('1.0.stdout')?.next).toBe(15);
});

test('bursts of several ranks lie beside each other, the ends together', () => {
  expect(interleave([['a1', 'a2', 'a3'], ['b3']])).toEqual(['a1', 'a2', 'a3', 'b3']);
  expect(
    interleave([
      ['a1', 'a2'],
      ['b1', 'b2'],
    ]),
  ).toEqual(['a1', 'b1', 'a2', 'b2']);
});

test('a traceback stays in one piece, behind what was printed', () => {
  const of = (stream: string, ...texts: string[]) => texts.map((text) => ({ stream, text }));
  const lines = burst([of('stdout', 'a1', 'a2'), of('stderr', 't1', 't2'), of('stdout', 'b1', 'b2')]);
  expect(lines.map((line) => line.text)).toEqual(['a1', 'b1', 'a2', 'b2', 't1', 't2']);
});

test('places and bytes', () => {
  const place = { attempt: 2, rank: 7, stream: 'stderr' as const, offset: 99 };
  expect(parseLineKey(lineKey(place))).toEqual(place);
  expect(parseLineKey('1.2.out.3')).toBeNull();
  expect([byteLength('aé四😀'), withoutBytes('四a', 3)]).toEqual([10, 'a']);
});
