import type uPlot from 'uplot';
import { colour } from './colours';

/** Something that happened, at a time in seconds. */
export type Mark = { x: number; label: string; tone: 'plain' | 'warn' | 'bad' };

const TOKENS: Record<Mark['tone'], string> = { plain: 'faint', warn: 'warn-fill', bad: 'bad-fill' };

/** What happened while something was drawn, or shortly before or after. */
export function marksNear(marks: readonly Mark[], from: number, to: number): Mark[] {
  const room = (to - from) / 10;
  return marks.filter((mark) => mark.x > from - room && mark.x < to + room);
}

/** What happened at a place of an axis, as far as a pointer can tell. */
export function markAt(marks: readonly Mark[], x: number, span: number): Mark | undefined {
  return marks.find((mark) => Math.abs(mark.x - x) < span / 60);
}

/** Draws what happened as lines over a plot, with a small flag at the top. */
export function drawMarks(plot: uPlot, marks: readonly Mark[]) {
  const { ctx, bbox } = plot;
  for (const mark of marks) {
    const x = Math.round(plot.valToPos(mark.x, 'x', true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    drawMark(ctx, mark, { x: x + 0.5, top: bbox.top, height: bbox.height, ratio: devicePixelRatio || 1 });
  }
}

type MarkPlace = { x: number; top: number; height: number; ratio: number };

export function drawMark(context: CanvasRenderingContext2D, mark: Mark, { x, top, height, ratio }: MarkPlace) {
  context.save();
  context.lineWidth = ratio;
  context.strokeStyle = colour(TOKENS[mark.tone]);
  context.fillStyle = context.strokeStyle;
  context.setLineDash([3 * ratio, 3 * ratio]);
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x, top + height);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.arc(x, top, 2.5 * ratio, 0, Math.PI * 2);
  context.fill();
  context.restore();
}
