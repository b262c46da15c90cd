import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { auditQuery } from '~/api/access';
import { Loaded } from '~/api/Loaded';
import { useNames } from '~/api/names';
import type { Event } from '~/api/types';
import { Card } from '~/ui/Card';
import { Empty } from '~/ui/Empty';
import { SearchInput } from '~/ui/Field';
import { useLater } from '~/ui/later';
import { More } from '~/ui/More';
import { Select } from '~/ui/Select';
import { SkeletonRows } from '~/ui/Skeleton';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';

const route = getRouteApi('/settings');
const KINDS = [
  'task.',
  'environment.',
  'group.',
  'dataset.',
  'model.',
  'user.',
  'token.',
  'secret.',
  'webhook.',
] as const;
const ALL = 'all';
const FIRST = 100;
/** The API gives no more at once. */
const MOST = 1_000;

/** Who has asked for what, newest first, live. */
export function Audit() {
  const { w, tell, date } = useWords();
  const { userName, roleName } = useNames();
  const { user = '', kind } = route.useSearch();
  const navigate = route.useNavigate();
  const [size, setSize] = useState(FIRST);
  const audit = useQuery(auditQuery({ user: useLater(user, 300), kind }, size));
  const narrow = (patch: { user?: string | undefined; kind?: string | undefined }) =>
    void navigate({ search: (before) => ({ ...before, ...patch }), replace: true, resetScroll: false });
  const columns: Column<Event>[] = [
    {
      key: 'time',
      head: w.settings.time,
      cell: ({ time }) => date(time),
      className: 'hidden whitespace-nowrap text-muted sm:table-cell',
    },
    {
      key: 'who',
      head: w.settings.userName,
      cell: ({ principal }) =>
        principal ? (
          <span className="whitespace-nowrap" title={principal.role ? roleName(principal.role) : undefined}>
            {userName(principal.name)}
          </span>
        ) : (
          '–'
        ),
      className: 'hidden sm:table-cell',
    },
    {
      key: 'what',
      head: w.settings.what,
      cell: ({ text, time, principal }) => (
        <div className="py-1.5 [overflow-wrap:anywhere]">
          {tell(text)}
          <span className="block text-xs text-muted sm:hidden">
            {[principal ? userName(principal.name) : null, date(time)].filter(Boolean).join(' · ')}
          </span>
        </div>
      ),
      className: 'w-full max-sm:pl-4',
    },
    {
      key: 'kind',
      head: w.settings.eventKind,
      cell: (event) => <span className="font-mono text-xs text-muted">{event.kind}</span>,
      className: 'hidden whitespace-nowrap sm:table-cell',
    },
  ];
  return (
    <Card title={w.settings.tabs.audit} note={w.settings.auditNote} className="mt-4">
      <div className="flex flex-wrap gap-2 border-b border-line px-4 py-3">
        <SearchInput
          label={w.settings.auditUser}
          value={user}
          onChange={(next) => narrow({ user: next.trim() || undefined })}
          className="w-full sm:w-60"
        />
        <Select
          aria-label={w.settings.eventKind}
          value={kind ?? ALL}
          onChange={(next) => narrow({ kind: next === ALL ? undefined : next })}
          options={[
            { value: ALL, label: w.settings.allKinds },
            ...KINDS.map((value) => ({ value: value as string, label: w.settings.kinds[value] })),
          ]}
        />
      </div>
      <Loaded
        query={audit}
        loading={<SkeletonRows count={8} />}
        isEmpty={({ items }) => items.length === 0}
        empty={<Empty title={w.settings.noAudit} hint={w.settings.noAuditHint} command="fermi audit --since 7d" />}
      >
        {({ items }) => (
          <>
            <Table
              label={w.settings.tabs.audit}
              columns={columns}
              rows={[...items].reverse()}
              rowKey={({ cursor }) => cursor}
            />
            {items.length >= size && size < MOST ? (
              <More isBusy={audit.isFetching} onMore={() => setSize(MOST)}>
                {w.common.more}
              </More>
            ) : null}
          </>
        )}
      </Loaded>
    </Card>
  );
}
