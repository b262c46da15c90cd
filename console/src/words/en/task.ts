import type { Words } from '../zh';

export const task: Words['task'] = {
  title: 'Training task',
};
