import { text } from '~/filters/address';

export const PRECISIONS = ['bf16', 'fp16', 'fp32', 'fp8'] as const;
export type Precision = (typeof PRECISIONS)[number];
export const SHOWN = ['strategies', 'layouts'] as const;
export type Shown = (typeof SHOWN)[number];

/** What the address of this page holds behind the question mark: environments with commas. */
export type PlannerSearch = {
  model?: string;
  env?: string;
  seq?: number;
  batch?: number;
  precision?: Precision;
  show?: Shown;
};

const whole = (value: unknown): number | undefined => {
  const found = Number(value);
  return Number.isInteger(found) && found > 0 ? found : undefined;
};

export function readSearch(search: Record<string, unknown>): PlannerSearch {
  const [model, env] = [text(search.model), text(search.env)];
  const [seq, batch] = [whole(search.seq), whole(search.batch)];
  const precision = PRECISIONS.find((one) => one === search.precision && one !== 'bf16');
  return {
    ...(model ? { model } : {}),
    ...(env ? { env } : {}),
    ...(seq ? { seq } : {}),
    ...(batch ? { batch } : {}),
    ...(precision ? { precision } : {}),
    ...(search.show === 'layouts' ? { show: 'layouts' as const } : {}),
  };
}
