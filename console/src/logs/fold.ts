/** What a progress bar has come to, and how many earlier states of it are not shown. */
export type Folded = { text: string; folded: number };

/** Keeps what a terminal would show last of a line that was written over by carriage returns. */
export function fold(line: string): Folded {
  if (!line.includes('\r')) return { text: line, folded: 0 };
  const states = line.split('\r').filter((state) => state !== '');
  return { text: states[states.length - 1] ?? '', folded: Math.max(states.length - 1, 0) };
}

/** A line that goes on: what was shown, and what has been written behind it. */
export function foldOn(before: Folded, more: string): Folded {
  // A carriage return at the end means that the next thing written begins anew.
  const joined = fold(`${before.text}${more}`);
  const keepsReturn = more.endsWith('\r') && joined.text !== '';
  return { text: keepsReturn ? `${joined.text}\r` : joined.text, folded: before.folded + joined.folded };
}
