export type Mode = 'existing' | 'auto' | 'new';
export const MODES: Mode[] = ['existing', 'auto', 'new'];
