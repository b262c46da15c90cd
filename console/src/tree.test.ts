// The rules of the tree: who may import whom, how long a file may be, that no raw colour is used.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { en } from './words/en';
import { zh } from './words/zh';

const ROOT = new URL('.', import.meta.url).pathname;

/** What each folder may import of ours; pages also their own folder. */
const MAY_IMPORT: Record<string, string[]> = {
  ui: [],
  words: [],
  api: ['ui', 'words'],
  live: ['api', 'words'],
  filters: ['ui', 'words', 'api'],
  logs: ['ui', 'words', 'api', 'live'],
  charts: ['ui', 'words', 'api'],
  pages: ['ui', 'api', 'live', 'logs', 'charts', 'filters', 'words'],
  shell: ['ui', 'api', 'live', 'words', 'routes'],
};
const LONGEST = 250;

function files(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return files(path);
    return /\.tsx?$/.test(entry.name) && !entry.name.endsWith('.d.ts') ? [path] : [];
  });
}

const SOURCES = files(ROOT).map((path) => ({ name: relative(ROOT, path), text: readFileSync(path, 'utf8') }));

function imports(source: { name: string; text: string }): string[] {
  const found = [...source.text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');
  return found.flatMap((target) => {
    if (target.startsWith('~/')) return [target.slice(2)];
    return target.startsWith('.') ? [join(source.name, '..', target)] : [];
  });
}

test('folders import only what they may', () => {
  const wrong = SOURCES.flatMap((source) => {
    const folder = source.name.split('/')[0] ?? '';
    const allowed = MAY_IMPORT[folder];
    if (!allowed) return [];
    return imports(source)
      .filter((target) => {
        const other = target.split('/')[0] ?? '';
        if (other !== folder) return !allowed.includes(other);
        return folder === 'pages' && target.split('/')[1] !== source.name.split('/')[1];
      })
      .map((target) => `${source.name} → ${target}`);
  });
  expect(wrong).toEqual([]);
});

test('files stay short', () => {
  const long = SOURCES.filter((source) => source.text.split('\n').length > LONGEST).map((source) => source.name);
  expect(long).toEqual([]);
});

test('no colour but those of the tokens, no HTML from strings, no effect that fetches', () => {
  const raw = /#[0-9a-f]{6}\b|rgba?\(\s*\d|dangerouslySetInnerHTML|\.innerHTML\s*=/i;
  const wrong = SOURCES.filter((source) => source.name !== 'tree.test.ts' && raw.test(source.text));
  expect(wrong.map((source) => source.name)).toEqual([]);
});

test('the server knows the address of every page', () => {
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
  const inRust = read('../../crates/server/src/http/page.rs').match(/const PAGES[^;]*;/)?.[0] ?? '';
  const served = new Set([...inRust.matchAll(/"(\/[^"]*)"/g)].map((match) => (match[1] ?? '').replace('{id}', '$id')));
  const routes = [...read('routes.tsx').matchAll(/path: '([^']+)'/g)].map((match) => match[1] ?? '');
  const isServed = (path: string) => served.has(path) || served.has(path.replace(/\/create$/, '/$id'));
  expect(routes.length).toBeGreaterThan(9);
  expect(routes.filter((path) => !isServed(path))).toEqual([]);
  expect([...served].filter((path) => !routes.includes(path))).toEqual([]);
});

/** Every word with its place; functions count as they are written. */
function flat(words: object, at = ''): [string, string][] {
  return Object.entries(words).flatMap(([key, value]): [string, string][] =>
    typeof value === 'object' && value !== null ? flat(value, `${at}${key}.`) : [[`${at}${key}`, String(value)]],
  );
}

test('both languages have the same words, and English holds no Chinese', () => {
  expect(flat(en).map(([key]) => key)).toEqual(flat(zh).map(([key]) => key));
  const allowed = new Set(['shell.switchLanguage']);
  const chinese = flat(en).filter(([key, text]) => /[\u4e00-\u9fff]/.test(text) && !allowed.has(key));
  expect(chinese).toEqual([]);
});
