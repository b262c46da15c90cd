import type { Words } from '../zh';

export const preflight: Words['preflight'] = {
  title: 'Preflight',
};
