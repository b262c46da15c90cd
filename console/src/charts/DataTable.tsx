import { memo, useDeferredValue } from 'react';
import type { Course } from './Plot';
import { join, thin } from './thin';

const SERIES = 25;
const ROWS = 40;
const NONE: Course[] = [];

type DataTableProps = {
  caption: string;
  head: string;
  courses: readonly Course[];
  format: (value: number) => string;
  formatX: (value: number, span: number) => string;
};

/** What a plot shows, for those who cannot see it. The cross-hair changes nothing of it. */
export const DataTable = memo(Rows, (a, b) => a.courses === b.courses && a.caption === b.caption && a.head === b.head);

function Rows({ caption, head, courses, format, formatX }: DataTableProps) {
  // What is seen is drawn first.
  const shown = useDeferredValue(courses, NONE).slice(0, SERIES);
  const { xs, ys } = join(
    shown.map((course) => thin(course.samples, Math.floor(ROWS / Math.max(shown.length, 1)) + 4)),
  );
  return (
    <div className="sr-only">
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{head}</th>
            {shown.map((course) => (
              <th key={course.label} scope="col">
                {course.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {xs.map((x, at) => (
            <tr key={x}>
              <th scope="row">{formatX(x, (xs[xs.length - 1] ?? 0) - (xs[0] ?? 0))}</th>
              {shown.map((course, index) => {
                const value = ys[index]?.[at];
                return <td key={course.label}>{value == null ? '' : format(value)}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
