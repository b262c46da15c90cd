import type { Environment } from '~/api/types';
import { Card } from '~/ui/Card';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';
import { type VersionRow, versionRows } from './versions';

export function VersionTable({ chosen }: { chosen: readonly Environment[] }) {
  const { w } = useWords();
  const columns: Column<VersionRow>[] = [
    {
      key: 'component',
      head: w.preflight.component,
      cell: (row) => <span className="font-mono text-xs">{row.component}</span>,
    },
    ...chosen.map(
      (environment, index): Column<VersionRow> => ({
        key: environment.id,
        head: (
          <span className="block max-w-44 truncate" title={environment.name}>
            {environment.name}
          </span>
        ),
        cell: (row) => {
          const cell = row.cells[index];
          if (!cell || cell.version === null) return <span className="text-xs text-faint">{w.preflight.unknown}</span>;
          return (
            <span
              className={cell.isOdd ? 'rounded bg-warn-soft px-1.5 font-mono text-xs text-warn' : 'font-mono text-xs'}
            >
              {cell.version}
            </span>
          );
        },
      }),
    ),
  ];
  return (
    <Card title={w.preflight.versions} note={w.preflight.versionsNote}>
      <Table
        label={w.preflight.versions}
        columns={columns}
        rows={versionRows(chosen)}
        rowKey={(row) => row.component}
      />
    </Card>
  );
}
