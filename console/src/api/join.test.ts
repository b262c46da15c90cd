import { expect, test } from 'vitest';
import { joinCommand, parseLabels } from './join';

const SERVER = 'https://10.0.0.1:7070';
const FINGERPRINT = `sha256:${'0a'.repeat(32)}`;

test.each([
  [{}, undefined, `fermi agent --server ${SERVER}`],
  [
    { name: 'gn8', zone: '北京可用区A', labels: { team: 'nlp', tier: 'a b' }, workers: '2', kind: 'ssh' as const },
    undefined,
    `fermi agent --server ${SERVER} --name gn8 --zone '北京可用区A' --label team=nlp --label 'tier=a b' --workers 2 --kind ssh`,
  ],
  [
    { name: 'gn6', declared: 'gpus=8xA100', tokenFile: 'gn6-token' },
    undefined,
    `fermi agent --server ${SERVER} --name gn6 --declare gpus=8xA100 --token-file gn6-token`,
  ],
  [
    { name: 'gn8', zone: 'zone-a', labels: { team: 'nlp' } },
    'fermi_word',
    `FERMI_TOKEN=fermi_word fermi agent --server ${SERVER} --name gn8`,
  ],
])('the command for %o', (joining, token, command) => {
  expect(joinCommand({ address: SERVER }, joining, token)).toBe(command);
});

// The same words as of `fermi env join`, whose test is beside it.
test('a server with an authority of its own is named by its fingerprint', () => {
  expect(joinCommand({ address: SERVER, fingerprint: FINGERPRINT }, { name: 'gn6' }, 'word')).toBe(
    `FERMI_TOKEN=word fermi agent --server ${SERVER} --fingerprint ${FINGERPRINT} --name gn6`,
  );
});

test.each([
  ['', {}],
  [' team=nlp， tier = a ,', { team: 'nlp', tier: 'a' }],
  ['team', { team: '' }],
  ['=nlp', { '': 'nlp' }],
  ['a=b=c', { a: 'b=c' }],
])('labels typed as %o', (text, labels) => {
  expect(parseLabels(text)).toEqual(labels);
});
