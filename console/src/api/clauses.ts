/** The parts of a long sentence of the queue, each to be shown on a line of its own. */
export function clauses(sentence: string): string[] {
  return sentence
    .split(/；|; /)
    .map((part) => part.trim())
    .filter(Boolean);
}
