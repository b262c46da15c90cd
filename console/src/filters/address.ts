/**
 * A reader of the address that has the last word. What it does not take is gone: a router keeps it as it was written,
 * and a page would meet a tab that does not exist, or a search that is no text.
 */
export function strictly<T extends object>(read: (search: Record<string, unknown>) => T) {
  return (search: Record<string, unknown>): T => {
    const unread: Record<string, undefined> = Object.fromEntries(Object.keys(search).map((key) => [key, undefined]));
    return { ...unread, ...read(search) };
  };
}

/** A text of the address. A router takes what looks like a number for one. */
export function text(value: unknown): string | undefined {
  const found = typeof value === 'number' ? String(value) : value;
  return typeof found === 'string' && found !== '' ? found : undefined;
}
