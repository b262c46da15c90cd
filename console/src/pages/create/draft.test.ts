import { expect, test } from 'vitest';
import { dropDraft, keepDraft, readDraft, type Store } from './draft';
import { EMPTY, type Form } from './form';

const named = (taskName: string): Form => ({ ...EMPTY, taskName });

function storage(): Store {
  const kept = new Map<string, string>();
  return {
    get length() {
      return kept.size;
    },
    key: (at) => [...kept.keys()][at] ?? null,
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
  };
}

test('a draft comes back where it was begun, and nowhere else', () => {
  const store = storage();
  expect(readDraft(store, null)).toBeNull();
  keepDraft(store, 'task-3', named('x'));
  expect(readDraft(store, 'task-3')).toEqual(named('x'));
  expect(readDraft(store, null)).toBeNull();
  keepDraft(store, null, named('new'));
  expect(readDraft(store, 'task-3')).toEqual(named('x'));
  dropDraft(store, 'task-3');
  expect(readDraft(store, 'task-3')).toBeNull();
  expect(readDraft(store, null)).toEqual(named('new'));
  store.setItem('fermi.create', '{nonsense');
  expect(readDraft(store, null)).toBeNull();
});

test('of clones the drafts that were changed last are kept', () => {
  const store = storage();
  store.setItem('fermi.theme', 'dark');
  keepDraft(store, null, named('new'), 0);
  store.setItem('fermi.create.task-0', JSON.stringify({ from: 'task-0', form: named('of an older page') }));
  for (const at of [1, 2, 3, 4, 5]) keepDraft(store, `task-${at}`, named('clone'), at);
  keepDraft(store, 'task-1', named('changed again'), 6);
  keepDraft(store, 'task-7', named('clone'), 7);
  const left = [0, 1, 2, 3, 4, 5, 7].filter((at) => readDraft(store, `task-${at}`) !== null);
  expect(left).toEqual([1, 3, 4, 5, 7]);
  expect(readDraft(store, null)).toEqual(named('new'));
  expect(store.getItem('fermi.theme')).toBe('dark');
});
