import { memo, type PointerEvent, useCallback, useDeferredValue, useState } from 'react';
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
  const { columns } = heat;
  const rows = heat.ranks.length;
  const row = Math.max(rows > MANY ? 1 : 2, Math.min(18, Math.floor(TALLEST / Math.max(rows, 1))));
  const [at, setAt] = useState<{ row: number; column: number } | null>(null);
  // The canvas is as high as what is in sight, and stays there while the rows scroll by.
  const height = Math.min(rows * row, BOX);
  const [top, setTop] = useState(0);
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: number) => {
      const inks = { cold: colour('track'), hot: colour('bad-fill'), text: colour('faint') };
      paintHeat(context, heat, { width, height, top, row }, inks);
    },
    [heat, height, top, row],
  );
  const { canvas, width } = useCanvas(height, draw);
  const place = (event: PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left - LABELS) / (width - LABELS)) * columns);
    const index = Math.floor((event.clientY - box.top + top) / row);
    return index >= 0 && index < rows ? { row: index, column: Math.min(Math.max(column, 0), columns - 1) } : null;
  };
  const rank = at ? heat.ranks[at.row] : undefined;
  const value = at ? heat.cells[at.row * columns + at.column] : undefined;
  const x = at ? heat.from + ((at.column + 0.5) / columns) * (heat.to - heat.from) : 0;
  return (
    <figure>
      <div
        tabIndex={rows * row > BOX ? 0 : undefined}
        className="max-h-130 overflow-y-auto"
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      >
        <div style={{ height: rows * row }}>
          <canvas
            ref={canvas}
            role="img"
            aria-label={label}
            className="sticky top-0 block w-full cursor-pointer"
            style={{ height }}
            onPointerMove={(event) => setAt(place(event))}
            onPointerLeave={() => setAt(null)}
            onClick={() => rank !== undefined && onPick(rank)}
          />
        </div>
      </div>
      <figcaption className="mt-2 flex min-h-5 flex-wrap items-center gap-x-3 text-xs text-muted">
        {rank === undefined ? (
          <span>{w.task.heatHint}</span>
        ) : (
          <span className="text-text">
            rank {number(rank)} · {value === undefined || Number.isNaN(value) ? '–' : format(value)} · {formatX(x)}
          </span>
        )}
        <span className="ml-auto flex items-center gap-2">
          {format(heat.low)}
          <span aria-hidden="true" className="h-2 w-20 rounded-xs bg-linear-to-r from-track to-bad-fill" />
          {format(heat.high)}
        </span>
      </figcaption>
      <Slowest label={label} heat={heat} format={format} />
    </figure>
  );
}

/** So many of the slowest are told to those who cannot see the map. */
const TOLD = 25;

const Slowest = memo(function Slowest({ label, heat, format }: Pick<HeatMapProps, 'label' | 'heat' | 'format'>) {
  const { w } = useWords();
  // What is seen is drawn first.
  const told = useDeferredValue(heat, null);
  return (
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
        {[...(told?.ranks.subarray(0, TOLD) ?? [])].map((rank, at) => (
          <tr key={rank}>
            <th scope="row">{rank}</th>
            <td>{format(told?.means[at] ?? 0)}</td>
            <td>{format(told?.worsts[at] ?? 0)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
});
