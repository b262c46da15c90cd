/** A command line as its words: spaces part them, quotes and backslashes keep them together. Null where a quote is open. */
export function argv(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let at = 0; at < line.length; at += 1) {
    const sign = line.charAt(at);
    if (quote === "'") {
      if (sign === "'") quote = null;
      else word += sign;
    } else if (sign === '\\' && at + 1 < line.length) {
      at += 1;
      word = (word ?? '') + line.charAt(at);
    } else if (quote === '"') {
      if (sign === '"') quote = null;
      else word += sign;
    } else if (sign === '"' || sign === "'") {
      quote = sign;
      word ??= '';
    } else if (/\s/.test(sign)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + sign;
  }
  if (quote !== null) return null;
  return word === null ? words : [...words, word];
}

const PLAIN = /^[\w@%+=:,./-]+$/u;

/** A word as a shell takes it. */
export function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Words as one line that gives the same words again. */
export function commandLine(words: readonly string[]): string {
  return words.map(quoted).join(' ');
}
