import type { Words } from '../zh';

export const groups: Words['groups'] = {
  title: 'Groups',
};
