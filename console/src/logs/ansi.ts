/** A run of text with one look; the look is a set of classes, never a colour of its own. */
type Span = { text: string; look: string };

type Style = { fg: number | null; bg: number | null; bold: boolean; dim: boolean; italic: boolean; underline: boolean };

const PLAIN: Style = { fg: null, bg: null, bold: false, dim: false, italic: false, underline: false };
/** The eight colours of terminals by the names of the tokens, so that they can be read in light and dark. */
const INK = [
  'text-faint',
  'text-bad',
  'text-good',
  'text-warn',
  'text-accent',
  'text-(--chart-4)',
  'text-(--chart-5)',
  'text-text',
];
const PAPER = [
  'bg-track',
  'bg-bad-soft',
  'bg-good-soft',
  'bg-warn-soft',
  'bg-accent-soft',
  'bg-accent-soft',
  'bg-info-soft',
  'bg-track',
];
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they are
const CODES = /\u001b(?:\[([0-9;:]*)([ -/]*[@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_=>])/g;

/** The nearest of the eight to a colour of the large palettes, by its hue. */
export function nearest(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue);
  const least = Math.min(red, green, blue);
  if (most - least < 40) return most > 110 ? 7 : 0;
  const line = (most + least) / 2;
  const isOn = (part: number) => (part > line ? 1 : 0);
  return isOn(red) + 2 * isOn(green) + 4 * isOn(blue);
}

function ofPalette(index: number): number {
  if (index < 16) return index % 8;
  if (index >= 232) return index > 243 ? 7 : 0;
  const at = index - 16;
  const level = (part: number) => (part === 0 ? 0 : 55 + part * 40);
  return nearest(level(Math.floor(at / 36)), level(Math.floor(at / 6) % 6), level(at % 6));
}

function styled(before: Style, codes: number[]): Style {
  let style = { ...before };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 0) style = { ...PLAIN };
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 22) [style.bold, style.dim] = [false, false];
    else if (code === 23) style.italic = false;
    else if (code === 24) style.underline = false;
    else if (code === 39) style.fg = null;
    else if (code === 49) style.bg = null;
    else if (code >= 30 && code <= 37) style.fg = code - 30;
    else if (code >= 90 && code <= 97) style.fg = code - 90;
    else if (code >= 40 && code <= 47) style.bg = code - 40;
    else if (code >= 100 && code <= 107) style.bg = code - 100;
    else if (code === 38 || code === 48) {
      const isWide = codes[at + 1] === 2;
      const [red = 0, green = 0, blue = 0] = codes.slice(at + 2, at + 5);
      const colour = isWide ? nearest(red, green, blue) : ofPalette(codes[at + 2] ?? 7);
      if (code === 38) style.fg = colour;
      else style.bg = colour;
      at += isWide ? 4 : 2;
    }
  }
  return style;
}

function look(style: Style): string {
  const found = [
    style.fg === null ? null : INK[style.fg],
    style.bg === null ? null : PAPER[style.bg],
    style.bold ? 'font-semibold' : null,
    style.dim ? 'opacity-70' : null,
    style.italic ? 'italic' : null,
    style.underline ? 'underline' : null,
  ];
  return found.filter(Boolean).join(' ');
}

/** A line as spans; what moves cursors and sets titles vanishes. */
export function spans(line: string): Span[] {
  if (!line.includes('\u001b')) return line === '' ? [] : [{ text: line, look: '' }];
  const found: Span[] = [];
  let style = PLAIN;
  let from = 0;
  const take = (to: number) => {
    if (to > from) found.push({ text: line.slice(from, to), look: look(style) });
  };
  for (const match of line.matchAll(CODES)) {
    take(match.index);
    from = match.index + match[0].length;
    if (match[2] === 'm') style = styled(style, (match[1] || '0').split(/[;:]/).map(Number));
  }
  take(line.length);
  return found;
}

/** A line without its codes, for searching and copying. */
export function bare(line: string): string {
  return line.includes('\u001b') ? line.replace(CODES, '') : line;
}
