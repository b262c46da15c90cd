import type uPlot from 'uplot';
import { colour } from './colours';

/** Something that happened, at a time in seconds. */
export type Mark = { x: number; label: string; tone: 'plain' | 'warn' | 'bad' };

const TOKENS: Record<Mark['tone'], string> = { plain: 'faint', warn: 'warn-fill', bad: 'bad-fill' };

/** Draws what happened as lines over a plot, with a small flag at the top. */
export function drawMarks(plot: uPlot, marks: readonly Mark[]) {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.lineWidth = ratio;
  for (const mark of marks) {
    const x = Math.round(plot.valToPos(mark.x, 'x', true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = colour(TOKENS[mark.tone]);
    ctx.fillStyle = ctx.strokeStyle;
    ctx.setLineDash([3 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x + 0.5, bbox.top);
    ctx.lineTo(x + 0.5, bbox.top + bbox.height);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.arc(x + 0.5, bbox.top, 2.5 * ratio, 0, Math.PI * 2);
    ctx.fill();
  }
  ctx.restore();
}
