import { useEffect, useMemo, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { classes } from '~/ui/classes';
import { seriesClass } from '~/ui/series';
import { useWords } from '~/words';
import { colour, seriesColour, useColours } from './colours';
import { DataTable } from './DataTable';
import { drawMarks, type Mark, markAt, marksNear } from './events';
import { join, type Sample } from './thin';

export type Course = { label: string; colour: number; samples: readonly Sample[] };

type PlotProps = {
  title: string;
  courses: readonly Course[];
  marks: readonly Mark[];
  /** Whether x is a time in seconds; else it is a number, such as a step. */
  isTime: boolean;
  /** What x is called, where it is neither time nor steps. */
  axis?: string;
  /** Plots with the same name share their cross-hair. */
  group: string;
  format: (value: number) => string;
  /** A place of the axis; how much of the axis is in sight tells how exactly. */
  formatX: (value: number, span: number) => string;
  height?: number;
  /** From where to where y goes; by default as far as the values do. */
  range?: [number, number];
  /** Where something above it says what it is. */
  isTitleHidden?: boolean;
};

/** Courses over time or steps. A drag looks closer, a double click looks at all again. */
export function Plot(props: PlotProps) {
  const { title, courses, marks, isTime, group, format, formatX, height = 176, range, isTitleHidden } = props;
  const { w } = useWords();
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const kept = useRef<readonly Mark[]>(marks);
  const turn = useColours();
  const [at, setAt] = useState<number | null>(null);
  // Marks near what is drawn have a place on the axis, so that the cross-hair finds them.
  const data = useMemo(() => {
    const { xs } = join(courses.map((course) => course.samples));
    const near = marksNear(marks, xs[0] ?? 0, xs[xs.length - 1] ?? 0);
    const joined = join([...courses.map((course) => course.samples), near.map((mark) => ({ x: mark.x, y: 0 }))]);
    return { xs: joined.xs, ys: joined.ys.slice(0, courses.length) };
  }, [courses, marks]);
  const shape = courses.map((course) => `${course.colour} ${course.label}`).join('\n');
  const formats = useRef({ format, formatX });
  formats.current = { format, formatX };

  // biome-ignore lint/correctness/useExhaustiveDependencies: built anew when its shape or the colours change, not for data
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const axis: uPlot.Axis = {
      stroke: colour('faint'),
      font: '11px sans-serif',
      grid: { stroke: colour('line'), width: 1 },
      ticks: { show: false },
    };
    const made = new uPlot(
      {
        width: Math.max(element.clientWidth, 120),
        height,
        legend: { show: false },
        focus: { alpha: 1 },
        padding: [8, 20, 0, 0],
        cursor: {
          sync: { key: group },
          y: false,
          drag: { x: true, y: false },
          points: { size: 6, width: 1.5, fill: colour('surface') },
        },
        scales: { x: { time: isTime }, ...(range ? { y: { range } } : {}) },
        axes: [
          {
            ...axis,
            size: 28,
            space: 80,
            values: (_, ticks) => ticks.map((tick) => formats.current.formatX(tick, spanOf(ticks))),
          },
          { ...axis, size: 56, space: 24, values: (_, ticks) => ticks.map((tick) => formats.current.format(tick)) },
        ],
        series: [
          {},
          ...courses.map((course) => ({
            label: course.label,
            stroke: seriesColour(course.colour),
            width: courses.length > 8 ? 1 : 1.5,
            points: { show: course.samples.length < 2 },
            spanGaps: true,
          })),
        ],
        hooks: {
          draw: [(drawn) => drawMarks(drawn, kept.current)],
          setCursor: [(moved) => setAt(moved.cursor.idx ?? null)],
        },
      },
      [data.xs, ...data.ys],
      element,
    );
    plot.current = made;
    const watcher = new ResizeObserver(() => made.setSize({ width: Math.max(element.clientWidth, 120), height }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, isTime, group, height, turn]);

  useEffect(() => {
    kept.current = marks;
    plot.current?.setData([data.xs, ...data.ys]);
  }, [data, marks]);

  const x = at === null ? undefined : data.xs[at];
  const near = x === undefined ? undefined : markAt(marks, x, spanOf(data.xs));
  /** What a course is under the cross-hair, or at its end. */
  const valueAt = (index: number) => {
    const value = at === null ? lastOf(courses[index]?.samples ?? []) : valueNear(data.ys[index] ?? [], at);
    return value === null ? '–' : format(value);
  };
  return (
    <figure className="min-w-0">
      <figcaption className="flex min-h-5 flex-wrap items-baseline gap-x-3 px-1 text-xs">
        <span className={isTitleHidden ? 'sr-only' : 'font-medium'}>{title}</span>
        {courses.length === 1 ? <span>{valueAt(0)}</span> : null}
        <span className="truncate text-muted">{near?.label}</span>
        <span className="ml-auto text-muted">{x === undefined ? '' : formatX(x, spanOf(data.xs))}</span>
      </figcaption>
      <div ref={host} role="img" aria-label={title} className="h-44" style={{ height }} />
      {courses.length > 1 ? (
        <ul className="flex min-h-9 flex-wrap content-start gap-x-3 px-1 text-2xs leading-4 text-muted">
          {courses.map((course, index) => (
            <li key={course.label} className="flex max-w-full items-center gap-1.5">
              <span
                aria-hidden="true"
                className={classes('h-0.5 w-2.5 shrink-0 rounded-full', seriesClass(course.colour))}
              />
              <span className="truncate" title={course.label}>
                {course.label}
              </span>
              {/* As wide as most values are: entries stay where they are while the cross-hair moves. */}
              <span className="min-w-9 shrink-0 text-text">{valueAt(index)}</span>
            </li>
          ))}
        </ul>
      ) : null}
      <DataTable
        caption={title}
        head={props.axis ?? (isTime ? w.task.time : w.task.stepHead)}
        courses={courses}
        format={format}
        formatX={formatX}
      />
    </figure>
  );
}

const spanOf = (xs: readonly number[]) => (xs[xs.length - 1] ?? 0) - (xs[0] ?? 0);
const lastOf = (samples: readonly Sample[]) => samples[samples.length - 1]?.y ?? null;

/** The value at a place, or the one before it where this course has none. */
function valueNear(values: readonly (number | null)[], at: number): number | null {
  for (let place = at; place >= 0; place -= 1) {
    const value = values[place];
    if (value != null) return value;
  }
  return null;
}
