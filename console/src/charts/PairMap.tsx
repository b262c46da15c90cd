import { classes } from '~/ui/classes';
import { type Cells, type Grade, grade, usual } from './pairs';

const SHADES: Record<Grade, string> = {
  good: 'bg-good-soft text-good',
  poor: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
};
/** More columns have no room for numbers: a colour and a title say it. */
const MOST_NUMBERS = 16;
/** More may have to be scrolled. */
const FEW = 4;

type PairMapProps = {
  label: string;
  names: readonly string[];
  cells: Cells;
  /** Of two that do not reach each other. */
  none: string;
  isMoreBetter?: boolean;
  least?: number;
  format: (value: number) => string;
};

/** Who does how well with whom, from row to column. */
export function PairMap({ label, names, cells, none, isMoreBetter = false, least = 0, format }: PairMapProps) {
  const middle = usual(cells);
  const hasNumbers = names.length <= MOST_NUMBERS;
  return (
    <div tabIndex={names.length > FEW ? 0 : undefined} className="overflow-x-auto">
      <table className="border-separate border-spacing-0.5 text-xs">
        <caption className="pb-2 text-left text-sm font-medium">{label}</caption>
        <thead>
          <tr>
            <td />
            {names.map((name, to) => (
              <th key={name} scope="col" title={name} className="px-1 font-mono font-normal text-faint">
                {to}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {names.map((from, row) => (
            <tr key={from}>
              <th
                scope="row"
                className="max-w-44 truncate pr-2 text-left font-mono font-normal text-muted"
                title={from}
              >
                <span className="mr-2 text-faint">{row}</span>
                {from}
              </th>
              {names.map((to, column) => {
                const value = row === column ? undefined : (cells[row]?.[column] ?? null);
                return (
                  <Cell
                    key={to}
                    title={`${from} → ${to}`}
                    {...{ value, middle, none, hasNumbers, format }}
                    judge={(it, usually) => grade(it, usually, isMoreBetter, least)}
                  />
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type CellProps = {
  /** Undefined of a node with itself, null where nothing was measured. */
  value: number | null | undefined;
  middle: number | null;
  title: string;
  none: string;
  hasNumbers: boolean;
  format: (value: number) => string;
  judge: (value: number, usual: number) => Grade;
};

function Cell({ value, middle, title, none, hasNumbers, format, judge }: CellProps) {
  if (value === undefined) return <td className="text-center text-faint">·</td>;
  const shown = value === null ? none : format(value);
  const shade = value === null || middle === null ? SHADES.bad : SHADES[judge(value, middle)];
  return (
    <td
      title={`${title}: ${shown}`}
      className={classes(
        'rounded-xs text-center tabular-nums',
        hasNumbers ? 'h-7 min-w-14 px-1.5' : 'h-4 min-w-4',
        shade,
      )}
    >
      {hasNumbers ? value === null ? '×' : shown : <span className="sr-only">{shown}</span>}
    </td>
  );
}
