import { expect, test } from 'vitest';
import { packSteps } from './packSteps';
import { StepReader } from './readSteps';
import type { Series } from './types';

const read = (text: string, size: number) => {
  const reader = new StepReader();
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
  return reader.finish();
};
const point = (time: number, step: number | null, value: number) => ({ time, step, value, min: value, max: value });
const series: Series[] = [
  { name: 'stepTimeS', rank: 3, points: [point(1_790_000_000_000, 1, 0.5123), point(1_790_000_005_250, null, 2e-9)] },
  { name: 'loss', rank: 0, points: [point(1, 1, 1)] },
  { name: 'stepTimeS', environment: '环境 "1" }]', points: [point(1, 1, 1)] },
  { name: 'stepTimeS', rank: 0, points: [] },
  { name: 'stepTimeS', rank: 12, points: [point(0, 0, -1.25), point(7, 2, 0.3141592653589793)] },
];

test.each([1, 2, 7, 64, 1_000_000])('what comes in parts of %i bytes is read as if it came at once', (size) => {
  for (const list of [series, series.slice(0, 1), []]) {
    const answer = { code: 200, message: '成功: "series":[', data: { series: list } };
    for (const spaces of [0, 2]) expect(read(JSON.stringify(answer, null, spaces), size)).toEqual(packSteps(list));
  }
});

test.each([
  '',
  '{"code":200,"data":{"series":',
  '{"code":200,"data":{"series":[{"name":"stepTimeS","rank":0,"points":[]},{"name":"stepTimeS","rank":1,"points":[]}',
  '{"code":200,"data":{"series":[{"name":"x]},{","rank":0,"points":[]}]}}',
])('what is not whole is not taken for whole: %s', (text) => {
  expect(() => read(text, 5)).toThrow();
});
