import type { Words } from '../zh';

export const settings: Words['settings'] = {
  title: 'Settings',
};
