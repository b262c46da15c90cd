import { type Heat, warmth } from './heat';

export type Inks = { cold: string; hot: string; text: string };
/** What stands left of the cells. */
export const LABELS = 44;
/** Rows that are lower than this have no names. */
const NAMED = 10;

type Rgb = readonly [number, number, number];

/** A colour of any notation as the canvas draws it. */
function rgb(context: OffscreenCanvasRenderingContext2D, colour: string): Rgb {
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data;
  return [red, green, blue];
}

/** The cells as pixels, one each: thousands of ranks are painted at once instead of cell by cell. */
function pixels(heat: Heat, columns: number, inks: Inks): OffscreenCanvas {
  const picture = new OffscreenCanvas(columns, heat.rows.length);
  const context = picture.getContext('2d', { willReadFrequently: true });
  if (!context) return picture;
  const [cold, hot] = [rgb(context, inks.cold), rgb(context, inks.hot)];
  const image = context.createImageData(columns, heat.rows.length);
  heat.rows.forEach((line, row) => {
    line.cells.forEach((value, column) => {
      if (value === null) return;
      const share = warmth(heat, value);
      const at = 4 * (row * columns + column);
      for (const part of [0, 1, 2] as const) image.data[at + part] = cold[part] + share * (hot[part] - cold[part]);
      image.data[at + 3] = 255;
    });
  });
  context.putImageData(image, 0, 0);
  return picture;
}

/** Draws all rows, `row` pixels high each, with the numbers of their ranks where there is room. */
export function paintHeat(context: CanvasRenderingContext2D, width: number, heat: Heat, row: number, inks: Inks) {
  const columns = heat.rows[0]?.cells.length ?? 0;
  if (columns === 0) return;
  context.imageSmoothingEnabled = false;
  context.drawImage(pixels(heat, columns, inks), LABELS, 0, width - LABELS, heat.rows.length * row);
  if (row < NAMED) return;
  context.font = '10px sans-serif';
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  context.fillStyle = inks.text;
  heat.rows.forEach((line, index) => {
    context.clearRect(LABELS, (index + 1) * row - 1, width - LABELS, 1);
    context.fillText(String(line.rank), LABELS - 8, index * row + row / 2);
  });
}
