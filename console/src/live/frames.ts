export type Frame = { id: string | null; kind: string; data: string | null };

/** One block of an event stream. */
function parseFrame(block: string): Frame {
  const frame: Frame = { id: null, kind: 'message', data: null };
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    const field = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? '' : line.slice(at + 1).replace(/^ /, '');
    if (field === 'id') frame.id = value;
    else if (field === 'event') frame.kind = value;
    else if (field === 'data') frame.data = frame.data === null ? value : `${frame.data}\n${value}`;
  }
  return frame;
}

/** Cuts what has arrived into whole frames; the rest waits for more. */
export function takeFrames(text: string): { frames: Frame[]; rest: string } {
  const frames: Frame[] = [];
  let rest = text;
  for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
    frames.push(parseFrame(rest.slice(0, end)));
    rest = rest.slice(end + 2);
  }
  return { frames, rest };
}
