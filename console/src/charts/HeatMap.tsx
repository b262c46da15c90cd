import { memo, type PointerEvent, useCallback, useDeferredValue, useEffect, useState } from 'react';
import { useWords } from '~/words';
import { useCanvas } from './canvas';
import { colour } from './colours';
import { followPointer, pointAt } from './crosshair';
import { drawMark, type Mark, markAt } from './events';
import type { Heat } from './heat';
import { LABELS, paintHeat } from './paintHeat';
import { numberTicks, timeTicks } from './ticks';

const TALLEST = 320;
/** The height at which it scrolls: `max-h-130`. */
const BOX = 520;
/** More rows than these are one pixel high, and scroll. */
const MANY = 512;

type HeatMapProps = {
  label: string;
  heat: Heat;
  marks: readonly Mark[];
  /** Whether x is a time in seconds; else it is a step. */
  isTime: boolean;
  /** Plots with the same name share their cross-hair with it. */
  group: string;
  format: (value: number) => string;
  formatX: (value: number, span: number) => string;
  onPick: (rank: number) => void;
};

/** Rank by time, the slowest rank on top: a straggler is a stripe. */
export function HeatMap({ label, heat, marks, isTime, group, format, formatX, onPick }: HeatMapProps) {
  const { w, number } = useWords();
  const { columns, from, to } = heat;
  const rows = heat.ranks.length;
  const row = Math.max(rows > MANY ? 1 : 2, Math.min(18, Math.floor(TALLEST / Math.max(rows, 1))));
  const [at, setAt] = useState<{ row: number; x: number } | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  useEffect(() => followPointer(group, setPointed), [group]);
  // The canvas is as high as what is in sight, and stays there while the rows scroll by.
  const height = Math.min(rows * row, BOX);
  const [top, setTop] = useState(0);
  const span = to - from;
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: number) => {
      const inks = { cold: colour('track'), hot: colour('bad-fill'), text: colour('faint') };
      paintHeat(context, heat, { width, height, top, row }, inks);
      for (const mark of marks) {
        if (mark.x < from || mark.x > to) continue;
        const x = Math.round(LABELS + ((mark.x - from) / (span || 1)) * (width - LABELS));
        // What happened at the very end has its flag within the picture.
        drawMark(context, mark, { x: Math.min(x, width - 3) + 0.5, top: 3, height: height - 3, ratio: 1 });
      }
    },
    [heat, marks, from, to, span, height, top, row],
  );
  const { canvas, width } = useCanvas(height, draw);
  const place = (event: PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const share = (event.clientX - box.left - LABELS) / Math.max(width - LABELS, 1);
    const index = Math.floor((event.clientY - box.top + top) / row);
    return index >= 0 && index < rows ? { row: index, x: from + Math.min(Math.max(share, 0), 1) * span } : null;
  };
  const point = (found: { row: number; x: number } | null) => {
    setAt(found);
    pointAt(group, found?.x ?? null);
  };
  const rank = at ? heat.ranks[at.row] : undefined;
  const column = at ? Math.min(columns - 1, Math.floor(((at.x - from) / (span || 1)) * columns)) : 0;
  const value = at ? heat.cells[at.row * columns + column] : undefined;
  const x = at?.x ?? pointed;
  const pixel = (place: number) => LABELS + ((place - from) / (span || 1)) * (width - LABELS);
  const near = x === null ? undefined : markAt(marks, x, span);
  return (
    <figure>
      <div className="relative">
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
              onPointerMove={(event) => point(place(event))}
              onPointerLeave={() => point(null)}
              onClick={() => rank !== undefined && onPick(rank)}
            />
          </div>
        </div>
        {x !== null && x >= from && x <= to ? (
          <div
            aria-hidden="true"
            className="pointer-events-none absolute top-0 w-px bg-muted"
            style={{ left: pixel(x), height }}
          />
        ) : null}
        <Axis {...{ from, to, width, isTime, formatX, pixel }} />
      </div>
      <figcaption className="mt-2 flex min-h-5 flex-wrap items-center gap-x-3 text-xs text-muted">
        {rank === undefined ? (
          <span>{near?.label ?? w.task.heatHint}</span>
        ) : (
          <>
            <span className="text-text">
              rank {number(rank)} · {value === undefined || Number.isNaN(value) ? '–' : format(value)} ·{' '}
              {formatX(x ?? from, span)}
            </span>
            <span className="min-w-0 truncate">{near?.label}</span>
          </>
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

/** What a tick has room for. */
const TICK = 84;

type AxisProps = Pick<HeatMapProps, 'isTime' | 'formatX'> &
  Pick<Heat, 'from' | 'to'> & { width: number; pixel: (place: number) => number };

function Axis({ from, to, width, isTime, formatX, pixel }: AxisProps) {
  const most = Math.max(2, Math.floor((width - LABELS) / TICK));
  const ticks = isTime
    ? timeTicks(from, to, most, -60 * new Date(from * 1000).getTimezoneOffset())
    : numberTicks(from, to, most);
  const isWhole = (left: number) => left >= LABELS && left <= width - TICK / 3;
  return (
    <div aria-hidden="true" className="relative mt-1 h-4 text-2xs leading-4 text-faint">
      {ticks
        .map((tick) => ({ tick, left: pixel(tick) }))
        .filter(({ left }) => isWhole(left))
        .map(({ tick, left }) => (
          <span key={tick} className="absolute -translate-x-1/2 whitespace-nowrap" style={{ left }}>
            {formatX(tick, to - from)}
          </span>
        ))}
    </div>
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
