import { useMutation, useQuery } from '@tanstack/react-query';
import { type Check, type Group, type GroupRank, type GroupRanks, groupCalls, groupRanksQuery } from '~/api/groups';
import { Loaded, Problem } from '~/api/Loaded';
import { Banner } from '~/ui/Banner';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { CheckIcon, InfoIcon, WarnIcon } from '~/ui/icons';
import { prose } from '~/ui/prose';
import { SkeletonRows } from '~/ui/Skeleton';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';

const cell = (value: number | null) => <span className="font-mono text-xs">{value ?? '–'}</span>;
const NUMBERS: Column<GroupRank>[] = [
  { key: 'rank', head: 'RANK', align: 'right', cell: (row) => cell(row.rank) },
  { key: 'local', head: 'LOCAL_RANK', align: 'right', cell: (row) => cell(row.localRank) },
  { key: 'node', head: 'NODE_RANK', align: 'right', cell: (row) => cell(row.nodeRank) },
  { key: 'world', head: 'WORLD_SIZE', align: 'right', cell: (row) => cell(row.worldSize) },
];

/** Who would be which rank of a group, live, and what would go wrong. */
export function RankPanel({ group }: { group: Group }) {
  const { w, advise } = useWords();
  const ranks = useQuery(groupRanksQuery(group.id));
  const check = useMutation({ mutationFn: () => groupCalls.check(group.id) });
  const columns: Column<GroupRank>[] = [
    {
      key: 'worker',
      head: w.groups.worker,
      className: 'min-w-32',
      cell: (row) => (
        <span className="font-mono text-xs">
          {row.worker}
          {row.standby ? <span className="ml-2 font-sans text-muted">{w.groups.standby}</span> : null}
        </span>
      ),
    },
    ...NUMBERS,
  ];
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Card title={`${w.groups.ranks} · ${group.name}`} note={w.groups.ranksNote}>
        <Loaded query={ranks} loading={<SkeletonRows count={4} />}>
          {(data) => (
            <>
              {data.problem ? (
                <Banner tone="warn" className="m-4">
                  <p className="font-medium">{prose(advise(data.problem.text))}</p>
                  {data.problem.hint ? <p>{prose(advise(data.problem.hint))}</p> : null}
                </Banner>
              ) : null}
              {data.rows.length > 0 ? (
                <div className="max-h-96 overflow-y-auto">
                  <Table label={w.groups.ranks} columns={columns} rows={data.rows} rowKey={(row) => row.worker} />
                </div>
              ) : null}
              {data.problem ? null : <Variables ranks={data} />}
            </>
          )}
        </Loaded>
      </Card>
      <Card
        title={w.groups.checks}
        note={w.groups.checkHint}
        actions={
          <Button size="sm" isBusy={check.isPending} onClick={() => check.mutate()}>
            {w.groups.check}
          </Button>
        }
      >
        {check.error ? <Problem error={check.error} onRetry={() => check.mutate()} /> : null}
        <Checks checks={check.data?.items ?? group.checks} />
      </Card>
    </div>
  );
}

function Variables({ ranks }: { ranks: GroupRanks }) {
  const { w } = useWords();
  const lines = [
    `MASTER_ADDR=${ranks.masterAddr ?? ''}`,
    `MASTER_PORT=${ranks.masterPort}`,
    `WORLD_SIZE=${ranks.worldSize ?? ''}`,
    'RANK LOCAL_RANK NODE_RANK',
  ];
  return (
    <div className="flex flex-wrap items-baseline gap-x-4 gap-y-1 border-t border-line px-4 py-3">
      <span className="text-xs text-muted">{w.groups.variables}</span>
      {lines.map((line) => (
        <code key={line} className="font-mono text-xs">
          {line}
        </code>
      ))}
    </div>
  );
}

const ICONS: Record<Check['state'], React.ReactNode> = {
  passed: <CheckIcon className="mt-0.5 shrink-0 text-good" />,
  warning: <WarnIcon className="mt-0.5 shrink-0 text-warn" />,
  failed: <WarnIcon className="mt-0.5 shrink-0 text-bad" />,
  unknown: <InfoIcon className="mt-0.5 shrink-0 text-faint" />,
};

function Checks({ checks }: { checks: readonly Check[] }) {
  const { tell, advise } = useWords();
  return (
    <ul className="divide-y divide-line">
      {checks.map((check) => (
        <li key={check.id} className="flex items-start gap-2.5 px-4 py-2 text-sm">
          {ICONS[check.state]}
          <div className="min-w-0">
            <p>{tell(check.text)}</p>
            {check.hint ? <p className="text-xs text-muted">{prose(advise(check.hint))}</p> : null}
          </div>
        </li>
      ))}
    </ul>
  );
}
