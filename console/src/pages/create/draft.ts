import { EMPTY, type Form } from './form';

const NAME = 'fermi.create';

/** What was begun and not sent. A draft of a clone is that of this task only. */
export function readDraft(store: Pick<Storage, 'getItem'>, from: string | null): Form | null {
  try {
    const kept: unknown = JSON.parse(store.getItem(NAME) ?? 'null');
    if (typeof kept !== 'object' || kept === null || !('form' in kept)) return null;
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
    store.setItem(NAME, JSON.stringify({ from, form }));
  } catch {
    // Without storage a draft lasts as long as the page.
  }
}

export function dropDraft(store: Pick<Storage, 'removeItem'>) {
  try {
    store.removeItem(NAME);
  } catch {
    // Nothing was kept.
  }
}
