import type { Words } from '../zh';

export const environments: Words['environments'] = {
  title: 'Environments',
};
