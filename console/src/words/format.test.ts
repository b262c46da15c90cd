import { expect, test } from 'vitest';
import { formatFor, sentence } from './format';

const zh = formatFor('zh-CN');
const en = formatFor('en');

test.each([
  [0, '0秒', '0 s'],
  [400, '<1秒', '<1 s'],
  [59_999, '59秒', '59 s'],
  [125_000, '2分5秒', '2 min 5 s'],
  [3_600_000, '1小时', '1 h'],
  [5 * 86_400_000 + 3 * 3_600_000 + 1, '5天3小时', '5 d 3 h'],
])('%d ms is %s, %s', (ms, chinese, english) => {
  expect([zh.duration(ms), en.duration(ms)]).toEqual([chinese, english]);
});

test.each([
  [512, '512 B'],
  [1536, '1.5 KB'],
  [200 * 1024 ** 3, '200 GB'],
])('%d bytes are %s', (count, text) => expect(en.bytes(count)).toBe(text));

test('values keep four figures', () => {
  expect([2.345678, 0.00001234, 12345.6, 0].map(en.value)).toEqual(['2.346', '1.23e-5', '12,346', '0']);
});

test('what was a moment ago is just now', () => {
  expect([zh.ago(0, 2_000), en.ago(0, 2_000), zh.ago(0, 65_000)]).toEqual(['刚刚', 'just now', '1分钟前']);
});

test('a little of something is not nothing', () => {
  expect([0, 0.001, 0.01, 1].map(en.percent)).toEqual(['0%', '<1%', '1%', '100%']);
});

test('what is to be done begins with a capital letter, unless it begins with a name', () => {
  const advised = (text: string) => en.advise({ en: text, 'zh-CN': '' });
  expect(advised('wait for task-2, or stop it')).toBe('Wait for task-2, or stop it');
  expect(advised('gn6-0 is held')).toBe('gn6-0 is held');
});

test.each([
  ["the dataset 'wiki' was created", "The dataset 'wiki' was created"],
  ['dataset-001 was deleted', 'dataset-001 was deleted'],
  ['ann has logged in', 'ann has logged in'],
  ['数据集“wiki”已创建', '数据集“wiki”已创建'],
  ['', ''],
])('the sentence %o is shown as %o', (text, shown) => {
  expect(sentence(text)).toBe(shown);
});
