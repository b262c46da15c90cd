import type { Words } from '../zh';

export const datasets: Words['datasets'] = {
  title: 'Datasets',
};
