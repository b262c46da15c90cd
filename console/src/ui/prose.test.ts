import { expect, test } from 'vitest';
import { pieces, prose } from './prose';

const marked = (sentence: string) =>
  pieces(sentence)
    .map(({ text, kind }) => (kind === 'code' ? `<${text}>` : kind === 'word' ? `[${text}]` : text))
    .join('');

test.each([
  ['没有代码的一句话。', '没有代码的一句话。'],
  ['去掉 --no-token 启动后，用户才用得上', '去掉 [--no-token] 启动后，用户才用得上'],
  ['每个节点都能访问的路径，例如 /data/corpus/v1', '每个节点都能访问的路径，例如 [/data/corpus/v1]'],
  ['名称与目录一致时（如 llama2-7b），会给出建议', '名称与目录一致时（如 [llama2-7b]），会给出建议'],
  ['也可在终端中运行 `fermi env join`。', '也可在终端中运行 <fermi env join>。'],
  ['吞吐（词元/秒）', '吞吐（词元/秒）'],
  ['see https://example.com/a/very/long/address for more', 'see https://example.com/a/very/long/address for more'],
  ['one ` alone', 'one ` alone'],
  ['', ''],
])('%s', (sentence, expected) => expect(marked(sentence)).toBe(expected));

test('what needs nothing, or is no sentence, stays as it is', () => {
  expect(prose('plain')).toBe('plain');
  expect(prose(null)).toBe(null);
});
