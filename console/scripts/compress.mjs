// Puts a brotli and a gzip copy beside each text file of dist/: the binary serves them as they are.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const DIST = new URL('../dist', import.meta.url).pathname;
const FIRST_LOAD_LIMIT = 250_000;
const isText = (name) => /\.(js|css|svg|html|json)$/.test(name);

function* files(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* files(path);
    else yield path;
  }
}

const gzipped = new Map();
for (const path of [...files(DIST)].filter(isText)) {
  const bytes = readFileSync(path);
  const gzip = gzipSync(bytes, { level: 9 });
  gzipped.set(path.slice(DIST.length + 1), gzip.length);
  // index.html is written anew for each address, and is small.
  if (path.endsWith('.html')) continue;
  const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
  if (gzip.length < bytes.length) writeFileSync(`${path}.gz`, gzip);
  if (brotli.length < bytes.length) writeFileSync(`${path}.br`, brotli);
}

const html = readFileSync(join(DIST, 'index.html'), 'utf8');
const first = [...html.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map((match) => match[1]);
const total = ['index.html', ...first].reduce((sum, name) => sum + (gzipped.get(name) ?? 0), 0);
const all = [...gzipped.values()].reduce((sum, size) => sum + size, 0);
console.log(
  `first load ${(total / 1000).toFixed(1)} kB gzip (limit ${FIRST_LOAD_LIMIT / 1000}), all files ${(all / 1000).toFixed(1)} kB`,
);
if (total > FIRST_LOAD_LIMIT) {
  console.error('the first load is over its limit');
  process.exit(1);
}
