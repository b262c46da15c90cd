import type { ReactNode } from 'react';

/** A part of a sentence: code in backticks, a word that is not to be broken, or neither. */
export type Piece = { text: string; kind: 'code' | 'word' | 'plain' };

/** Words that a browser would break behind a hyphen or a slash, such as `--no-token` and `/data/corpus`, and what is in backticks. */
const WHOLE = /`([^`]+)`|[!-_a-~]*[-/][!-_a-~]+/g;
/** Longer ones are broken where there is no room for them. */
const LONGEST = 28;

export function pieces(sentence: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  const add = (text: string, kind: Piece['kind']) => {
    const last = found[found.length - 1];
    if (kind === 'plain' && last?.kind === 'plain') last.text += text;
    else if (text !== '') found.push({ text, kind });
  };
  for (const match of sentence.matchAll(WHOLE)) {
    add(sentence.slice(from, match.index), 'plain');
    from = match.index + match[0].length;
    if (match[1] === undefined) add(match[0], match[0].length > LONGEST ? 'plain' : 'word');
    else add(match[1], 'code');
  }
  add(sentence.slice(from), 'plain');
  return found;
}

/** A sentence whose words of code stay whole; anything else is left as it is. */
export function prose(sentence: ReactNode): ReactNode {
  if (typeof sentence !== 'string') return sentence;
  const parts = pieces(sentence);
  if (parts.every(({ kind }) => kind === 'plain')) return sentence;
  return parts.map(({ text, kind }, at) => {
    const look = text.length > LONGEST ? '[overflow-wrap:anywhere]' : 'whitespace-nowrap';
    if (kind === 'plain') return text;
    return kind === 'code' ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of a sentence have no name of their own
      <code key={at} className={`font-mono ${look}`}>
        {text}
      </code>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above
      <span key={at} className="whitespace-nowrap">
        {text}
      </span>
    );
  });
}
