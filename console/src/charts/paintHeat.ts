import { type Heat, warmth } from './heat';

type Inks = { cold: string; hot: string; text: string };
/** What stands left of the cells. */
export const LABELS = 44;
/** Rows that are lower than this have no names. */
const NAMED = 10;
/** So many colours can be told apart, and more. */
const SHADES = 256;

/** Colours from cold to hot, as the canvas keeps them: any notation of a colour is mixed by the browser. */
function shades(inks: Inks): Uint32Array {
  const strip = new OffscreenCanvas(SHADES, 1).getContext('2d', { willReadFrequently: true });
  if (!strip) return new Uint32Array(SHADES);
  const ramp = strip.createLinearGradient(0, 0, SHADES, 0);
  ramp.addColorStop(0, inks.cold);
  ramp.addColorStop(1, inks.hot);
  strip.fillStyle = ramp;
  strip.fillRect(0, 0, SHADES, 1);
  return new Uint32Array(strip.getImageData(0, 0, SHADES, 1).data.buffer);
}

/** The cells as pixels, one each: thousands of ranks are painted at once instead of cell by cell. */
function pixels(heat: Heat, inks: Inks): OffscreenCanvas {
  const { columns, cells, ranks } = heat;
  const picture = new OffscreenCanvas(columns, ranks.length);
  const context = picture.getContext('2d');
  if (!context) return picture;
  const image = context.createImageData(columns, ranks.length);
  const drawn = new Uint32Array(image.data.buffer);
  const colours = shades(inks);
  for (let at = 0; at < cells.length; at += 1) {
    const value = cells[at] as number;
    if (!Number.isNaN(value)) drawn[at] = colours[Math.round(warmth(heat, value) * (SHADES - 1))] as number;
  }
  context.putImageData(image, 0, 0);
  return picture;
}

/** Pictures of maps that are shown: to scroll one makes no other. */
const kept = new WeakMap<Heat, { colours: string; picture: OffscreenCanvas }>();

function pictureOf(heat: Heat, inks: Inks): OffscreenCanvas {
  const colours = `${inks.cold} ${inks.hot}`;
  const known = kept.get(heat);
  if (known?.colours === colours) return known.picture;
  const picture = pixels(heat, inks);
  kept.set(heat, { colours, picture });
  return picture;
}

/** What is in sight of a map whose rows are `row` pixels high: from `top` on, `height` pixels. */
type Sight = { width: number; height: number; top: number; row: number };

/** Draws the rows in sight, with the numbers of their ranks where there is room. */
export function paintHeat(
  context: CanvasRenderingContext2D,
  heat: Heat,
  { width, height, top, row }: Sight,
  inks: Inks,
) {
  if (heat.ranks.length === 0) return;
  const picture = pictureOf(heat, inks);
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, 0, top / row, heat.columns, height / row, LABELS, 0, width - LABELS, height);
  if (row < NAMED) return;
  context.font = '10px sans-serif';
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  context.fillStyle = inks.text;
  heat.ranks.forEach((rank, index) => {
    context.clearRect(LABELS, (index + 1) * row - 1, width - LABELS, 1);
    context.fillText(String(rank), LABELS - 8, index * row + row / 2);
  });
}
