import { EMPTY, type Form } from './form';

export type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

const NAME = 'fermi.create';
const OF_CLONES = `${NAME}.`;
/** Of so many clones the drafts are kept; those that were changed longest ago go. */
const MOST_CLONES = 5;

/** A new task has its draft, and so has the clone of each task. */
const nameOf = (from: string | null) => (from === null ? NAME : `${OF_CLONES}${from}`);

/** What was begun and not sent. */
export function readDraft(store: Pick<Storage, 'getItem'>, from: string | null): Form | null {
  try {
    const kept: unknown = JSON.parse(store.getItem(nameOf(from)) ?? 'null');
    if (typeof kept !== 'object' || kept === null || !('form' in kept)) return null;
    // An older page kept the draft of a clone under the name of a new task's.
    if (((kept as { from?: string | null }).from ?? null) !== from) return null;
    const form = (kept as { form: Partial<Form> }).form;
    // What an older page has kept may lack fields.
    return { ...EMPTY, ...form };
  } catch {
    return null;
  }
}

export function keepDraft(store: Store, from: string | null, form: Form, now = Date.now()) {
  try {
    store.setItem(nameOf(from), JSON.stringify({ from, form, at: now }));
    forgetOldest(store);
  } catch {
    // Without storage a draft lasts as long as the page.
  }
}

export function dropDraft(store: Pick<Storage, 'removeItem'>, from: string | null) {
  try {
    store.removeItem(nameOf(from));
  } catch {
    // Nothing was kept.
  }
}

function forgetOldest(store: Store) {
  const names = Array.from({ length: store.length }, (_, at) => store.key(at) ?? '');
  const clones = names.filter((name) => name.startsWith(OF_CLONES));
  if (clones.length <= MOST_CLONES) return;
  const aged = clones.map((name) => ({ name, at: changedAt(store.getItem(name)) }));
  for (const { name } of aged.sort((a, b) => b.at - a.at).slice(MOST_CLONES)) store.removeItem(name);
}

/** What cannot be read, or is of an older page, is the oldest. */
function changedAt(kept: string | null): number {
  try {
    return (JSON.parse(kept ?? 'null') as { at?: number } | null)?.at ?? 0;
  } catch {
    return 0;
  }
}
