import type { VersionDifference } from '~/api/types';
import { Card } from '~/ui/Card';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';

/** What nodes have in different versions, as they have found it themselves. */
export function Differences({ names, differences }: { names: string[]; differences: VersionDifference[] }) {
  const { w } = useWords();
  const columns: Column<VersionDifference>[] = [
    {
      key: 'what',
      head: w.preflight.component,
      cell: (row) => (
        <span className={row.state === 'error' ? 'font-mono text-xs text-bad' : 'font-mono text-xs'}>{row.what}</span>
      ),
    },
    {
      key: 'versions',
      head: w.preflight.versions,
      cell: (row) => (
        <ul>
          {row.versions.map((version) => (
            <li key={version.version} className="text-xs">
              <span className="font-mono">{version.version}</span>
              <span className="ml-3 text-muted">{version.nodes.flatMap((place) => names[place] ?? []).join(', ')}</span>
            </li>
          ))}
        </ul>
      ),
    },
  ];
  return (
    <Card title={w.preflight.differences}>
      <Table label={w.preflight.differences} columns={columns} rows={differences} rowKey={(row) => row.what} />
    </Card>
  );
}
