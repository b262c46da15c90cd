// Writes src/api/schema.d.ts from the API's document. `--check` says whether it is as the document wants it.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';

const FROM = new URL('../../docs/reference/openapi.json', import.meta.url);
const TO = new URL('../src/api/schema.d.ts', import.meta.url);

const document = JSON.parse(readFileSync(FROM, 'utf8'));
// Names of operations are not unique in the document; without them each path has its own types.
for (const path of Object.values(document.paths))
  for (const operation of Object.values(path)) delete operation.operationId;
const text = astToString(await openapiTS(document, { defaultNonNullable: false }));
if (process.argv.includes('--check')) {
  if (readFileSync(TO, 'utf8') !== text) {
    console.error(`${fileURLToPath(TO)} is not what the document says: run npm run schema`);
    process.exit(1);
  }
} else writeFileSync(TO, text);
