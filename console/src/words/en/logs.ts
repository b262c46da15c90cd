import type { Words } from '../zh';

export const logs: Words['logs'] = {
  title: 'Logs',
};
