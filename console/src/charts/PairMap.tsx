import { classes } from '~/ui/classes';
import { type Cells, type Grade, grade, type Pair, pairOf, type Untried, usual } from './pairs';

const SHADES: Record<Grade, string> = {
  good: 'bg-good-soft text-good',
  poor: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
};
/** What stands for those without a number. */
const MARKS: Partial<Record<Pair, string>> = { cut: '×', untried: '–' };
/** More columns have no room for numbers: a colour and a title say it. */
const MOST_NUMBERS = 16;
/** More may have to be scrolled. */
const FEW = 4;

/** What is said of two without a value. */
type PairWords = { cut: string; untried: string };

type PairMapProps = {
  label: string;
  names: readonly string[];
  cells: Cells;
  /** Which of those without a value were not tried; the others do not reach each other. */
  untried: Untried;
  words: PairWords;
  isMoreBetter?: boolean;
  least?: number;
  format: (value: number) => string;
};

/** Who does how well with whom, from row to column. */
export function PairMap(props: PairMapProps) {
  const { label, names, cells, untried, words, isMoreBetter = false, least = 0, format } = props;
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
              {names.map((to, column) => (
                <Cell
                  key={to}
                  pair={pairOf(cells, untried, row, column)}
                  title={`${from} → ${to}`}
                  {...{ middle, words, hasNumbers, format }}
                  judge={(it, usually) => grade(it, usually, isMoreBetter, least)}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type CellProps = {
  pair: Pair;
  middle: number | null;
  title: string;
  words: PairWords;
  hasNumbers: boolean;
  format: (value: number) => string;
  judge: (value: number, usual: number) => Grade;
};

function Cell({ pair, middle, title, words, hasNumbers, format, judge }: CellProps) {
  if (pair === 'same') return <td className="text-center text-faint">·</td>;
  const shown = typeof pair === 'number' ? format(pair) : words[pair];
  const shade = shadeOf(pair, middle, judge);
  return (
    <td
      title={`${title}: ${shown}`}
      className={classes(
        'rounded-xs text-center tabular-nums',
        hasNumbers ? 'h-7 min-w-14 px-1.5' : 'h-4 min-w-4',
        shade,
      )}
    >
      {hasNumbers ? (MARKS[pair] ?? shown) : <span className="sr-only">{shown}</span>}
    </td>
  );
}

function shadeOf(pair: Pair, middle: number | null, judge: CellProps['judge']): string {
  if (pair === 'untried') return 'bg-sunken text-faint';
  return typeof pair !== 'number' || middle === null ? SHADES.bad : SHADES[judge(pair, middle)];
}
