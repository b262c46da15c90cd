import type { Folded } from './fold';

export type StreamKind = 'stdout' | 'stderr' | 'hang';

/** A piece of one stream, as the server tells it: by chunk or as it is written. */
export type Piece = {
  attempt: number;
  rank: number;
  stream: StreamKind;
  offset: number;
  nextOffset: number;
  text: string;
  isGap?: boolean;
};

/** Where a line stands: its attempt, rank, stream and first byte. */
export type Place = Pick<Piece, 'attempt' | 'rank' | 'stream' | 'offset'>;

export type LogLine = Place & Folded & { key: string; isOpen: boolean; isGap: boolean };

/** The name of a line in addresses: `1.3.stderr.2048`. */
export function lineKey({ attempt, rank, stream, offset }: Place): string {
  return `${attempt}.${rank}.${stream}.${offset}`;
}

export function parseLineKey(text: string): Place | null {
  const match = /^(\d+)\.(\d+)\.(stdout|stderr|hang)\.(\d+)$/.exec(text);
  if (!match) return null;
  return {
    attempt: Number(match[1]),
    rank: Number(match[2]),
    stream: match[3] as StreamKind,
    offset: Number(match[4]),
  };
}

/** How many bytes a text takes in UTF-8, without encoding it. */
export function byteLength(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  return bytes;
}

/** The text behind so many of its bytes. */
export function withoutBytes(text: string, bytes: number): string {
  let at = 0;
  for (let left = bytes; left > 0 && at < text.length; ) {
    const wide = (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
    left -= byteLength(text.slice(at, at + wide));
    at += wide;
  }
  return text.slice(at);
}
