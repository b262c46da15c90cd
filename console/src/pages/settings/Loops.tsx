import type { ServerStatus } from '~/api/types';
import { Card } from '~/ui/Card';
import { useNow } from '~/ui/now';
import { Pill } from '~/ui/Pill';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';

type Loop = ServerStatus['loops'][number];

/** What the server does again and again, and how it fares. */
export function Loops({ status }: { status: ServerStatus }) {
  const { w, number, duration, ago } = useWords();
  const now = useNow();
  const columns: Column<Loop>[] = [
    { key: 'name', head: w.settings.loop, cell: (loop) => <span className="font-mono text-xs">{loop.name}</span> },
    {
      key: 'period',
      head: w.settings.period,
      align: 'right',
      cell: (loop) => (loop.periodMs < 1_000 ? `${loop.periodMs} ms` : duration(loop.periodMs)),
      className: 'whitespace-nowrap',
    },
    { key: 'runs', head: w.settings.runs, align: 'right', cell: (loop) => number(loop.runs) },
    {
      key: 'failures',
      head: w.settings.failures,
      align: 'right',
      cell: (loop) => (
        <span className={loop.failures + loop.panics > 0 ? 'text-bad' : ''}>{number(loop.failures + loop.panics)}</span>
      ),
    },
    {
      key: 'last',
      head: w.settings.last,
      cell: (loop) => (loop.lastRun ? ago(loop.lastRun.endedAt, now) : '–'),
      className: 'whitespace-nowrap',
    },
    {
      key: 'outcome',
      head: w.settings.outcome,
      cell: (loop) =>
        loop.lastRun ? (
          <Pill
            tone={loop.lastRun.outcome === 'failed' || loop.lastRun.outcome === 'panicked' ? 'bad' : 'idle'}
            title={loop.lastRun.reason ?? undefined}
          >
            {w.settings.outcomes[loop.lastRun.outcome] ?? loop.lastRun.outcome}
          </Pill>
        ) : (
          '–'
        ),
    },
  ];
  return (
    <Card title={w.settings.loops} className="lg:col-span-2">
      <Table label={w.settings.loops} columns={columns} rows={status.loops} rowKey={(loop) => loop.name} />
    </Card>
  );
}
