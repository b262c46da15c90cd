import { expect, test } from 'vitest';
import { takeFrames } from './frames';

test('whole frames are taken and the rest waits', () => {
  const { frames, rest } = takeFrames(': keep-alive\n\nid: 7\nevent: event\ndata: {"a":\ndata: 1}\n\nid: 8\nda');
  expect(frames).toEqual([
    { id: null, kind: 'message', data: null },
    { id: '7', kind: 'event', data: '{"a":\n1}' },
  ]);
  expect(rest).toBe('id: 8\nda');
});
