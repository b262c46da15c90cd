import { useId, useState } from 'react';
import type { RankStart } from '~/api/types';
import { Card } from '~/ui/Card';
import { Checkbox } from '~/ui/Checkbox';
import { Copy } from '~/ui/Copy';
import { classes } from '~/ui/classes';
import { SearchInput } from '~/ui/Field';
import { useWords } from '~/words';
import { foundRows, shellVariables, type VariableRow, variableRows } from './variableRows';

/** The variables of a rank, to be searched; what is not as rank 0 has it is marked. */
export function Variables({ start, zero }: { start: RankStart; zero: RankStart | null }) {
  const { w, number } = useWords();
  const [text, setText] = useState('');
  const [isDifferentOnly, setDifferentOnly] = useState(false);
  const label = useId();
  const rows = variableRows(start.env, zero?.env ?? null);
  const shown = foundRows(rows, text, isDifferentOnly && zero !== null);
  const different = rows.filter((row) => row.isDifferent).length;
  return (
    <Card
      title={w.task.envOf(String(start.rank))}
      note={w.task.envGiven}
      actions={<Copy text={shellVariables(start.env)} label={w.task.copyAll} />}
    >
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-2">
        <SearchInput label={w.task.searchVariables} value={text} onChange={setText} className="w-full sm:w-64" />
        {zero === null ? null : (
          <span className="flex items-center gap-2 text-xs text-muted">
            <Checkbox aria-labelledby={label} checked={isDifferentOnly} onChange={setDifferentOnly} />
            <span id={label}>{w.task.onlyDifferent(number(different))}</span>
          </span>
        )}
      </div>
      {shown.length === 0 ? (
        <p className="px-4 py-3 text-sm text-muted">{w.common.noMatch}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by the keyboard
        <section aria-label={w.task.envOf(String(start.rank))} tabIndex={0} className="max-h-[60vh] overflow-auto">
          <table className="w-full min-w-120 table-fixed border-collapse font-mono text-xs">
            <thead className="sticky top-0 bg-surface font-sans text-muted">
              <tr className="border-b border-line">
                <Head>{w.task.variable}</Head>
                <Head>{w.task.value}</Head>
                {zero === null ? null : <Head>{w.task.valueOf('0')}</Head>}
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <Row key={row.name} row={row} isCompared={zero !== null} />
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Card>
  );
}

function Head({ children }: { children: string }) {
  return (
    <th scope="col" className="h-8 px-4 text-left font-medium">
      {children}
    </th>
  );
}

function Row({ row, isCompared }: { row: VariableRow; isCompared: boolean }) {
  const { w } = useWords();
  const value = (text: string | null) => text ?? <span className="font-sans text-faint">{w.task.notGiven}</span>;
  return (
    <tr className={classes('border-b border-line align-top last:border-0', row.isDifferent && 'bg-accent-soft')}>
      <th scope="row" className="px-4 py-1.5 text-left font-normal break-all text-muted">
        {row.name}
      </th>
      <td className="px-4 py-1.5 break-all whitespace-pre-wrap">{value(row.value)}</td>
      {isCompared ? (
        <td className="px-4 py-1.5 break-all whitespace-pre-wrap text-muted">
          {row.isDifferent ? value(row.other) : null}
        </td>
      ) : null}
    </tr>
  );
}
