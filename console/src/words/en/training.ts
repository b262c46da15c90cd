import type { Words } from '../zh';

export const training: Words['training'] = {
  title: 'Training tasks',
};
