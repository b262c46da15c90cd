import { expect, test } from 'vitest';
import { refusal } from './error';

const answer = (status: number) => new Response(null, { status });

test('a proxy that does not reach the server is no word of the server', () => {
  for (const body of [undefined, null, '<html>Bad Gateway</html>', {}]) {
    expect(refusal(answer(502), body).isUnreachable).toBe(true);
  }
  const own = { code: 503, message: '正在启动', error: { id: 'starting', field: null, hint: '稍候' } };
  expect(refusal(answer(503), own)).toMatchObject({ status: 503, id: 'starting', text: '正在启动', hint: '稍候' });
});

test('an answer without an envelope is told by its number', () => {
  expect(refusal(answer(418), 'teapot')).toMatchObject({ status: 418, id: 'http_418', text: 'HTTP 418' });
});
