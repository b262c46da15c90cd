import type { ServerStatus } from '~/api/types';
import { Card } from '~/ui/Card';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';

type Kept = ServerStatus['kept'][number];

/** What the server keeps, by which rule, and what has gone. */
export function Retention({ status }: { status: ServerStatus }) {
  const { w, say, tell, number, bytes } = useWords();
  const columns: Column<Kept>[] = [
    { key: 'kind', head: w.settings.kind, cell: (kept) => say(kept.name), className: 'whitespace-nowrap' },
    { key: 'count', head: w.settings.count, align: 'right', cell: (kept) => number(kept.count) },
    {
      key: 'size',
      head: w.settings.size,
      align: 'right',
      cell: (kept) => (kept.bytes == null ? '–' : bytes(kept.bytes)),
      className: 'whitespace-nowrap',
    },
    {
      key: 'rule',
      head: w.settings.rule,
      cell: (kept) => <span className="text-muted">{tell(kept.rule)}</span>,
      className: 'min-w-48',
    },
    { key: 'removed', head: w.settings.removed, align: 'right', cell: (kept) => number(kept.removed) },
  ];
  return (
    <Card title={w.settings.retention} note={w.settings.retentionHint} className="lg:col-span-2">
      <Table label={w.settings.retention} columns={columns} rows={status.kept} rowKey={(kept) => kept.kind} />
    </Card>
  );
}
