import { expect, test } from 'vitest';
import { ApiError, refusal, refusalOf, unreachable } from './error';

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

test('a form tells of a refusal at its field, and of a server that is away above all of them', () => {
  const away = { unreachable: '无法连接服务器', unreachableHint: '会自动重连' };
  const taken = refusalOf(new ApiError(409, 'name_taken', '名称已存在', '换一个', 'name', null), away);
  expect([taken.id, taken.at('name'), taken.at('path')]).toEqual(['name_taken', '名称已存在 · 换一个', null]);
  expect(refusalOf(unreachable(), away)).toMatchObject({ id: 'unreachable', text: '无法连接服务器 · 会自动重连' });
  expect(refusalOf(null, away).text).toBeNull();
});
