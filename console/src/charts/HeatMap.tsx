import { type PointerEvent, useCallback, useState } from 'react';
import { useWords } from '~/words';
import { useCanvas } from './canvas';
import { colour } from './colours';
import type { Heat } from './heat';
import { LABELS, paintHeat } from './paintHeat';

const TALLEST = 320;
/** The height at which it scrolls: `max-h-130`. */
const BOX = 520;
/** More rows than these are one pixel high, and scroll. */
const MANY = 512;

type HeatMapProps = {
  label: string;
  heat: Heat;
  format: (value: number) => string;
  formatX: (value: number) => string;
  onPick: (rank: number) => void;
};

/** Rank by time, the slowest rank on top: a straggler is a stripe. */
export function HeatMap({ label, heat, format, formatX, onPick }: HeatMapProps) {
  const { w, number } = useWords();
  const rows = heat.rows.length;
  const row = Math.max(rows > MANY ? 1 : 2, Math.min(18, Math.floor(TALLEST / Math.max(rows, 1))));
  const columns = heat.rows[0]?.cells.length ?? 1;
  const [at, setAt] = useState<{ row: number; column: number } | null>(null);
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: number) => {
      paintHeat(context, width, heat, row, { cold: colour('track'), hot: colour('bad-fill'), text: colour('faint') });
    },
    [heat, row],
  );
  const { canvas, width } = useCanvas(rows * row, draw);
  const place = (event: PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left - LABELS) / (width - LABELS)) * columns);
    const index = Math.floor((event.clientY - box.top) / row);
    return index >= 0 && index < rows ? { row: index, column: Math.min(Math.max(column, 0), columns - 1) } : null;
  };
  const line = at ? heat.rows[at.row] : undefined;
  const value = at && line ? line.cells[at.column] : null;
  const x = at ? heat.from + ((at.column + 0.5) / columns) * (heat.to - heat.from) : 0;
  return (
    <figure>
      <div tabIndex={rows * row > BOX ? 0 : undefined} className="max-h-130 overflow-y-auto">
        <canvas
          ref={canvas}
          role="img"
          aria-label={label}
          className="block w-full cursor-pointer"
          style={{ height: rows * row }}
          onPointerMove={(event) => setAt(place(event))}
          onPointerLeave={() => setAt(null)}
          onClick={() => line && onPick(line.rank)}
        />
      </div>
      <figcaption className="mt-2 flex min-h-5 flex-wrap items-center gap-x-3 text-xs text-muted">
        {line ? (
          <span className="text-text">
            rank {number(line.rank)} · {value == null ? '–' : format(value)} · {formatX(x)}
          </span>
        ) : (
          <span>{w.task.heatHint}</span>
        )}
        <span className="ml-auto flex items-center gap-2">
          {format(heat.low)}
          <span aria-hidden="true" className="h-2 w-20 rounded-xs bg-linear-to-r from-track to-bad-fill" />
          {format(heat.high)}
        </span>
      </figcaption>
      <table className="sr-only">
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">rank</th>
            <th scope="col">{w.task.meanStep}</th>
            <th scope="col">{w.task.worstStep}</th>
          </tr>
        </thead>
        <tbody>
          {heat.rows.slice(0, 100).map((entry) => (
            <tr key={entry.rank}>
              <th scope="row">{entry.rank}</th>
              <td>{format(entry.mean)}</td>
              <td>{format(entry.worst)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
