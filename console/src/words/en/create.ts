import type { Words } from '../zh';

export const create: Words['create'] = {
  title: 'New training task',
};
