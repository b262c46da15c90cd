import type { Words } from '../zh';

export const models: Words['models'] = {
  title: 'Models',
};
