import { useMutation } from '@tanstack/react-query';
import { useCallback, useDeferredValue, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { Problem } from '~/api/Loaded';
import { Button } from '~/ui/Button';
import { Empty } from '~/ui/Empty';
import { Skeleton } from '~/ui/Skeleton';
import { toast } from '~/ui/Toast';
import { useWords } from '~/words';
import { download } from './download';
import { LogList } from './LogList';
import { LogTools } from './LogTools';
import { parseLineKey, type StreamKind } from './line';
import { parseRanks } from './ranks';
import { firstError } from './search';
import { LogStore } from './store';

/** What of a view of logs lives in the address. */
export type LogSearchState = {
  ranks?: string | undefined;
  q?: string | undefined;
  line?: string | undefined;
  stream?: StreamKind | undefined;
  attempt?: number | undefined;
  wrap?: boolean | undefined;
};

/** What is left free below the logs. */
const MARGIN = 24;

type LogViewProps = {
  taskId: string;
  worldSize: number;
  attempts: number;
  nodeOf: (rank: number) => string;
  /** The error that is known to have come first. */
  error: { text: string; rank: number } | null;
  search: LogSearchState;
  onSearch: (change: LogSearchState) => void;
};

/** Ends with the window, whatever stands above it: a banner may come and go. */
function fillsWindow(section: HTMLElement | null) {
  if (!section) return;
  const fit = () => {
    const above = section.getBoundingClientRect().top + window.scrollY;
    section.style.height = `${window.innerHeight - above - MARGIN}px`;
  };
  const observer = new ResizeObserver(fit);
  observer.observe(document.body);
  window.addEventListener('resize', fit);
  return () => {
    observer.disconnect();
    window.removeEventListener('resize', fit);
  };
}

/** All ranks in one view: followed, searched, filtered; any line has an address. */
export function LogView({ taskId, worldSize, attempts, nodeOf, error, search, onSearch }: LogViewProps) {
  const { w } = useWords();
  const filter = parseRanks(search.ranks ?? '') ?? null;
  const shown = search.line ?? null;
  // A line that is not among those held is looked up with what is around it.
  const [around, setAround] = useState(shown);
  const [turn, setTurn] = useState(0);
  const ranksKey = JSON.stringify(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the filter by what it says; each turn begins anew
  const store = useMemo(
    () =>
      new LogStore(
        { taskId, ranks: filter, stream: search.stream ?? null, attempt: search.attempt ?? null, worldSize },
        around ? parseLineKey(around) : null,
      ),
    [taskId, ranksKey, search.stream, search.attempt, worldSize, around, turn],
  );
  useEffect(() => {
    const ended = new AbortController();
    store.start(ended.signal);
    return () => ended.abort();
  }, [store]);
  const state = useSyncExternalStore(store.subscribe, store.snapshot);

  const show = useCallback(
    (key: string) => {
      if (!store.has(key)) setAround(key);
      onSearch({ line: key });
    },
    [store, onSearch],
  );
  const choose = useCallback((key: string) => onSearch({ line: key }), [onSearch]);
  const newest = useCallback(() => {
    setAround(null);
    setTurn((before) => before + 1);
    onSearch({ line: undefined });
  }, [onSearch]);
  // Words are marked after it is told how many lines have them.
  const marked = useDeferredValue(search.q ?? '');
  const hrefOf = useCallback((key: string) => {
    const url = new URL(window.location.href);
    url.searchParams.set('line', key);
    return `${url.pathname}${url.search}`;
  }, []);
  const onError = (failed: Error) => toast('bad', failed.message || w.common.unreachable);
  const seek = useMutation({
    mutationFn: () => firstError(taskId, error),
    onSuccess: (key) => (key ? show(key) : toast('info', w.logs.noError)),
    onError,
  });
  const save = useMutation({
    mutationFn: () =>
      download({
        taskId,
        ranks: filter,
        stream: search.stream ?? null,
        attempt: search.attempt ?? null,
        worldSize,
      }),
    onError,
  });
  const place = around ? parseLineKey(around) : null;
  return (
    <section
      ref={fillsWindow}
      className="flex h-[calc(100dvh-306px)] min-h-90 flex-col overflow-hidden rounded-lg border border-line bg-surface"
    >
      <LogTools
        taskId={taskId}
        attempts={attempts}
        state={state}
        search={search}
        onSearch={onSearch}
        onHit={show}
        filter={filter}
        isSeeking={seek.isPending}
        onFirstError={() => seek.mutate()}
        isSaving={save.isPending}
        onDownload={() => save.mutate()}
      />
      {place ? (
        <p className="flex items-center gap-3 border-b border-line bg-info-soft px-4 py-1 text-xs text-info">
          <span className="min-w-0 truncate">{w.logs.around(`${nodeOf(place.rank)}:${place.rank}`)}</span>
          <Button size="sm" tone="ghost" className="ml-auto" onClick={newest}>
            {w.logs.toEnd}
          </Button>
        </p>
      ) : null}
      {state.failed && state.lines.length === 0 ? (
        <Problem error={state.failed} onRetry={() => setTurn((before) => before + 1)} />
      ) : state.isLoading ? (
        <div aria-busy="true" className="flex flex-col gap-2 p-4">
          {['w-3/5', 'w-4/5', 'w-2/5', 'w-3/4', 'w-1/2'].map((width) => (
            <Skeleton key={width} className={`h-3 ${width}`} />
          ))}
        </div>
      ) : state.lines.length === 0 ? (
        <Empty
          title={state.isOver ? w.logs.emptyOver : w.logs.empty}
          hint={state.isOver ? undefined : w.logs.emptyHint}
          command={`fermi task logs ${taskId} --follow`}
        />
      ) : (
        <LogList
          key={turn}
          store={store}
          state={state}
          shown={shown}
          query={marked}
          isWrapped={search.wrap ?? false}
          nodeOf={nodeOf}
          hrefOf={hrefOf}
          onChoose={choose}
          onNewest={newest}
        />
      )}
    </section>
  );
}
