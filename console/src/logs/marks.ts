export type Part = { text: string; isMatch: boolean };

/** A text taken apart at what is looked for, whatever its case. */
export function parts(text: string, query: string): Part[] {
  const wanted = query.toLowerCase();
  const low = text.toLowerCase();
  // Where lower case has another length, places would not fit.
  if (wanted === '' || low.length !== text.length) return [{ text, isMatch: false }];
  const found: Part[] = [];
  let from = 0;
  for (let at = low.indexOf(wanted); at >= 0; at = low.indexOf(wanted, from)) {
    if (at > from) found.push({ text: text.slice(from, at), isMatch: false });
    from = at + wanted.length;
    found.push({ text: text.slice(at, from), isMatch: true });
  }
  if (from < text.length) found.push({ text: text.slice(from), isMatch: false });
  return found;
}
