import type { Words } from '../zh';

export const planner: Words['planner'] = {
  title: 'Planner',
};
