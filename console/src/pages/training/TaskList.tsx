import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import { Loaded } from '~/api/Loaded';
import { environmentsQuery } from '~/api/queries';
import { pagesInSightQuery, pagesOf, taskPagesQuery } from '~/api/taskPages';
import type { TaskPhase } from '~/api/types';
import { FilterBar } from '~/filters/FilterBar';
import { type FilterField, readFilters, toQuery, writeFilters } from '~/filters/schema';
import { Card } from '~/ui/Card';
import { Checkbox } from '~/ui/Checkbox';
import { Empty } from '~/ui/Empty';
import { TasksIcon } from '~/ui/icons';
import { Select } from '~/ui/Select';
import { SkeletonRows } from '~/ui/Skeleton';
import { VirtualRows } from '~/ui/VirtualRows';
import { useWords } from '~/words';
import { SelectionBar } from './SelectionBar';
import { FILTERS, SORTS, type Sort } from './search';
import { COLUMNS, TaskRowView } from './TaskRowView';

const route = getRouteApi('/training');
/** So near to the end the next page is asked for. */
const NEAR = 20;
const COMMAND = "fermi task create --name hello --env my-env --follow -- sh -c 'echo hello from rank $RANK'";

/** All tasks; filter, order and pages are the server's, and only the rows in sight exist. */
export function TaskList() {
  const { w, number } = useWords();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [inSight, setInSight] = useState<[number, number]>([0, 0]);
  // For the names in a menu; nothing that must be fresh.
  const environments = useQuery({ ...environmentsQuery(), refetchInterval: false });
  const values = readFilters(search, FILTERS);
  const filter = toQuery(values, search.q);
  const params = { ...(filter ? { filter } : {}), orderBy: search.sort ?? SORTS[0] };
  const tasks = useInfiniteQuery(taskPagesQuery(params));
  const held = tasks.isPlaceholderData ? [] : (tasks.data?.pageParams.slice(inSight[0], inSight[1] + 1) ?? []);
  useQuery(pagesInSightQuery(params, held as (string | undefined)[], tasks.dataUpdatedAt));
  const pages = tasks.data?.pages;
  const rows = useMemo(() => pages?.flatMap((page) => page.items) ?? [], [pages]);
  const total = tasks.data?.pages[0]?.total;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = tasks;
  const onSight = useCallback(
    (first: number, last: number) => {
      const [from, to] = pagesOf(pages ?? [], first, last);
      setInSight((before) => (before[0] === from && before[1] === to ? before : [from, to]));
      if (last >= rows.length - NEAR && hasNextPage && !isFetchingNextPage) void fetchNextPage();
    },
    [pages, rows.length, hasNextPage, isFetchingNextPage, fetchNextPage],
  );
  const change = (next: object) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false });
  const fields: FilterField[] = [
    {
      key: 'status',
      label: w.training.status,
      options: Object.entries(w.training.phases).map(([value, label]) => ({ value: value as TaskPhase, label })),
    },
    {
      key: 'environment',
      label: w.training.environment,
      isSingle: true,
      options: environments.data?.items.map((one) => ({ value: one.id, label: one.name })) ?? [],
    },
  ];
  const tick = useCallback((id: string, isTicked: boolean) => {
    setTicked((before) => {
      const next = new Set(before);
      if (isTicked) next.add(id);
      else next.delete(id);
      return next;
    });
  }, []);
  const chosen = rows.filter((row) => ticked.has(row.id));
  const isNarrowed = filter !== undefined;
  return (
    <div className="flex flex-col gap-3">
      <FilterBar
        fields={fields}
        values={values}
        onValues={(next) => change(writeFilters(next, FILTERS))}
        text={search.q ?? ''}
        onText={(q) => change({ q: q || undefined })}
        searchLabel={w.training.search}
      >
        <span className="hidden text-xs text-muted sm:inline">
          {total == null
            ? rows.length > 0
              ? w.training.loaded(`${number(rows.length)}${hasNextPage ? '+' : ''}`)
              : ''
            : w.training.count(number(total))}
        </span>
        <Select<Sort>
          aria-label={w.training.sort}
          value={search.sort ?? SORTS[0]}
          options={SORTS.map((value) => ({ value, label: w.training.sorts[value] }))}
          onChange={(sort) => change({ sort: sort === SORTS[0] ? undefined : sort })}
        />
      </FilterBar>
      <SelectionBar chosen={chosen} onClear={() => setTicked(new Set())} />
      <Card className="overflow-hidden">
        <Loaded
          query={tasks}
          loading={<SkeletonRows count={10} className="h-9" />}
          isEmpty={() => rows.length === 0}
          empty={
            isNarrowed ? (
              <Empty title={w.training.noMatch} hint={w.training.noMatchHint} />
            ) : (
              <Empty icon={<TasksIcon />} title={w.training.empty} hint={w.training.emptyHint} command={COMMAND} />
            )
          }
        >
          {() => (
            <VirtualRows
              label={w.training.title}
              count={rows.length}
              rowHeight={52}
              onSight={onSight}
              className="max-h-[max(320px,calc(100dvh-220px))]"
              head={
                <div
                  role="row"
                  className={`${COLUMNS} h-9 border-b border-line bg-surface text-xs font-medium text-muted`}
                >
                  <span role="columnheader">
                    <Checkbox
                      aria-label={w.training.selectAll}
                      checked={chosen.length > 0 && chosen.length === rows.length}
                      isMixed={chosen.length > 0 && chosen.length < rows.length}
                      onChange={(next) => setTicked(new Set(next ? rows.map((row) => row.id) : []))}
                    />
                  </span>
                  <span role="columnheader">{w.training.name}</span>
                  <span role="columnheader">{w.training.status}</span>
                  <span role="columnheader">{w.training.progress}</span>
                  <span role="columnheader" className="text-right">
                    {w.training.ranks}
                  </span>
                  <span role="columnheader">{w.training.reason}</span>
                  <span role="columnheader" className="text-right">
                    {w.training.age}
                  </span>
                </div>
              }
              row={(index) => {
                const row = rows[index];
                return row ? <TaskRowView row={row} isTicked={ticked.has(row.id)} onTick={tick} /> : null;
              }}
            />
          )}
        </Loaded>
      </Card>
    </div>
  );
}
