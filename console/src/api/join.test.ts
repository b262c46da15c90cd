import { expect, test } from 'vitest';
import { joinCommand, parseLabels } from './join';

const SERVER = 'https://10.0.0.1:7070';

test.each([
  [{}, undefined, `fermi agent --server ${SERVER}`],
  [
    { name: 'gn8', zone: '北京可用区A', labels: { team: 'nlp', tier: 'a b' }, workers: '2', kind: 'ssh' as const },
    undefined,
    `fermi agent --server ${SERVER} --name gn8 --zone '北京可用区A' --label team=nlp --label 'tier=a b' --workers 2 --kind ssh`,
  ],
  [
    { name: 'gn8', zone: 'zone-a', labels: { team: 'nlp' } },
    'fermi_word',
    `FERMI_TOKEN=fermi_word fermi agent --server ${SERVER} --name gn8`,
  ],
])('the command for %o', (joining, token, command) => {
  expect(joinCommand(SERVER, joining, token)).toBe(command);
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
