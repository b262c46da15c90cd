import type { SquareState } from './zones';

export const FILLS: Record<SquareState, string> = {
  free: 'bg-good-soft border-good-fill/60',
  busy: 'bg-accent border-accent',
  suspect: 'bg-warn-fill border-warn-fill',
  offline: 'bg-sunken border-line-strong border-dashed',
};
