import { EMPTY, type Form } from './form';

/** A new task has its draft, and so has the clone of each task. */
const nameOf = (from: string | null) => (from === null ? 'fermi.create' : `fermi.create.${from}`);

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

export function keepDraft(store: Pick<Storage, 'setItem'>, from: string | null, form: Form) {
  try {
    store.setItem(nameOf(from), JSON.stringify({ from, form }));
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
