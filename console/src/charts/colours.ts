import { useSyncExternalStore } from 'react';

/** Colours of the theme that were asked for: to read one may make the browser lay out the whole page. */
const known = new Map<string, string>();
if (typeof window !== 'undefined') window.addEventListener('fermi-theme', () => known.clear());

/** A colour of the tokens as it is now, for what is drawn on a canvas. */
export function colour(name: string): string {
  const found = known.get(name);
  if (found) return found;
  const read = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  known.set(name, read);
  return read;
}

/** The colour of the n-th series; eight of them, then from the beginning. */
export const seriesColour = (at: number): string => colour(`chart-${(at % 8) + 1}`);

let turn = 0;

/** Changes whenever colours do, so that canvases are drawn again. */
export function useColours(): number {
  return useSyncExternalStore(
    (listener) => {
      const changed = () => {
        turn += 1;
        listener();
      };
      window.addEventListener('fermi-theme', changed);
      return () => window.removeEventListener('fermi-theme', changed);
    },
    () => turn,
  );
}
