import { foldOn } from './fold';
import { byteLength, type LogLine, lineKey, type Piece, type Place, withoutBytes } from './line';
import { burst } from './order';

/** How far the window reaches in one stream: from a line's first byte to the place where one reads on. */
export type Reach = Omit<Place, 'offset'> & { first: number; next: number };

const nameOf = (place: Omit<Place, 'offset'>) => `${place.attempt}.${place.rank}.${place.stream}`;

/** The lines that are held of all streams, never more than `most`; what falls out is fetched again when it is wanted. */
export class LogWindow {
  lines: readonly LogLine[] = [];
  /** Newer lines were let go to make room for older ones. */
  isCutAtEnd = false;
  readonly reaches = new Map<string, Reach>();
  private readonly open = new Map<string, string>();

  constructor(readonly most = 20_000) {}

  get canGoBack(): boolean {
    return [...this.reaches.values()].some((reach) => reach.first > 0);
  }

  has(key: string): boolean {
    return this.lines.some((line) => line.key === key);
  }

  /** Puts what was written behind what is there. What is known already is left out. */
  append(written: readonly Piece[]) {
    const pieces = this.skipSurplus(written);
    const lines = [...this.lines];
    const isFirst = lines.length === 0;
    const found: LogLine[] = [];
    for (const piece of pieces) {
      const name = nameOf(piece);
      const reach = this.reach(name, piece);
      if (piece.nextOffset <= reach.next && piece.offset < reach.next) continue;
      const known = Math.max(reach.next - piece.offset, 0);
      const text = known > 0 ? withoutBytes(piece.text, known) : piece.text;
      const made = this.read(name, { ...piece, text, offset: piece.offset + known }, (key) => {
        const at = found.findLastIndex((line) => line.key === key);
        if (at >= 0) return [found, at];
        return [lines, lines.findLastIndex((line) => line.key === key)];
      });
      reach.next = piece.nextOffset;
      found.push(...made);
    }
    // Within one burst only the order within a stream is known: the ends are laid beside each other.
    this.lines = isFirst ? burst(byStream(found)) : lines.concat(found);
    this.cutFront();
  }

  /** Puts older pieces, one for each stream, before what is there. */
  prepend(pieces: readonly Piece[]) {
    const older: LogLine[][] = [];
    for (const piece of pieces) {
      const reach = this.reaches.get(nameOf(piece));
      if (!reach || piece.offset >= reach.first) continue;
      // The first line is whole only at the stream's beginning.
      const cut = piece.offset > 0 ? piece.text.indexOf('\n') + 1 : 0;
      const offset = piece.offset + byteLength(piece.text.slice(0, cut));
      if (offset >= reach.first) {
        reach.first = piece.offset;
        continue;
      }
      const whole = piece.text.slice(cut).replace(/\n$/, '').split('\n');
      let at = offset;
      const lines = whole.map((text) => {
        const line = closed({ ...piece, offset: at }, text);
        at += byteLength(text) + 1;
        return line;
      });
      reach.first = offset;
      older.push(lines);
    }
    this.lines = burst(older).concat(this.lines);
    this.cutEnd();
  }

  /** Who reads more slowly than it is written goes on near the end: what would fall out at once is not made lines of. */
  private skipSurplus(pieces: readonly Piece[]): readonly Piece[] {
    let from = pieces.length;
    for (let lines = 0; from > 0 && lines <= this.most; ) lines += newLines(pieces[--from]?.text ?? '');
    if (from === 0) return pieces;
    const torn = new Set<string>();
    for (const piece of pieces.slice(0, from)) {
      const [name, reach] = [nameOf(piece), this.reach(nameOf(piece), piece)];
      if (piece.nextOffset <= reach.next) continue;
      reach.next = piece.nextOffset;
      this.open.delete(name);
      if (piece.text.endsWith('\n')) torn.delete(name);
      else torn.add(name);
    }
    return pieces.slice(from).map((piece) => {
      if (!torn.delete(nameOf(piece))) return piece;
      const end = piece.text.indexOf('\n') + 1;
      return { ...piece, text: piece.text.slice(end), offset: piece.offset + byteLength(piece.text.slice(0, end)) };
    });
  }

  private reach(name: string, piece: Piece): Reach {
    let reach = this.reaches.get(name);
    if (!reach) {
      const { attempt, rank, stream, offset } = piece;
      reach = { attempt, rank, stream, first: offset, next: offset };
      this.reaches.set(name, reach);
    }
    return reach;
  }

  /** The lines of a piece; its beginning goes on with the stream's open line. */
  private read(name: string, piece: Piece, find: (key: string) => [LogLine[], number]): LogLine[] {
    if (piece.isGap) {
      this.open.delete(name);
      return [{ ...closed(piece, piece.text.replace(/\n$/, '')), isGap: true }];
    }
    const made: LogLine[] = [];
    const parts = piece.text.split('\n');
    let at = piece.offset;
    parts.forEach((part, index) => {
      const isLast = index === parts.length - 1;
      const begun = index === 0 ? this.open.get(name) : undefined;
      const [list, place] = begun ? find(begun) : [made, -1];
      const before = list[place];
      if (before) {
        const written = foldOn(before, part);
        list[place] = isLast ? { ...before, ...written } : { ...before, ...ended(written), isOpen: false };
      } else if (part !== '' || !isLast) {
        const line = { ...closed({ ...piece, offset: at }, ''), ...foldOn({ text: '', folded: 0 }, part) };
        made.push(isLast ? { ...line, isOpen: true } : { ...line, ...ended(line) });
        if (isLast) this.open.set(name, line.key);
      }
      if (!isLast && index === 0) this.open.delete(name);
      at += byteLength(part) + 1;
    });
    return made;
  }

  private cutFront() {
    const surplus = this.lines.length - this.most;
    if (surplus <= 0) return;
    const gone = this.lines.slice(0, surplus);
    this.lines = this.lines.slice(surplus);
    const first = new Map<string, number>();
    for (const line of this.lines) if (!first.has(nameOf(line))) first.set(nameOf(line), line.offset);
    for (const name of new Set(gone.map(nameOf))) {
      const reach = this.reaches.get(name);
      if (reach) reach.first = first.get(name) ?? reach.next;
    }
  }

  private cutEnd() {
    if (this.lines.length <= this.most) return;
    const gone = this.lines.slice(this.most);
    this.lines = this.lines.slice(0, this.most);
    this.isCutAtEnd = true;
    for (const line of [...gone].reverse()) {
      const reach = this.reaches.get(nameOf(line));
      if (reach) reach.next = line.offset;
      this.open.delete(nameOf(line));
    }
  }
}

function byStream(lines: readonly LogLine[]): LogLine[][] {
  const found = new Map<string, LogLine[]>();
  for (const line of lines) {
    const list = found.get(nameOf(line));
    if (list) list.push(line);
    else found.set(nameOf(line), [line]);
  }
  return [...found.values()];
}

function newLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

const ended = <T extends { text: string }>(line: T): T => ({ ...line, text: line.text.replace(/\r$/, '') });

function closed(place: Place, text: string): LogLine {
  const { attempt, rank, stream, offset } = place;
  const folded = foldOn({ text: '', folded: 0 }, text.replace(/\r$/, ''));
  return { attempt, rank, stream, offset, ...folded, key: lineKey(place), isOpen: false, isGap: false };
}
