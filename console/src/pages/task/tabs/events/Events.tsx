import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Loaded } from '~/api/Loaded';
import { useNames } from '~/api/names';
import { taskEventsQuery } from '~/api/queries';
import type { Event } from '~/api/types';
import { classes } from '~/ui/classes';
import { Empty } from '~/ui/Empty';
import { More } from '~/ui/More';
import { useNow } from '~/ui/now';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import type { TabProps } from '../../Page';

const kindOf = (event: Event) => event.kind.split('.')[0] ?? '';

/** What happened, newest first, live. */
export function Events({ task, search, onSearch }: TabProps) {
  const { w, tell, ago, date } = useWords();
  const { userName } = useNames();
  const now = useNow();
  const query = useInfiniteQuery(taskEventsQuery(task.id));
  const events = useMemo(() => query.data?.pages.flatMap((page) => page.items).reverse() ?? [], [query.data]);
  const kinds = useMemo(() => [...new Set(events.map(kindOf))].sort(), [events]);
  const subjects: Record<string, string> = w.task.subjects;
  // What an agent tells is said in the name of its environment.
  const nameOf = (id: string) => task.nodes.find((node) => node.environment === id)?.name ?? userName(id);
  const shown = events.filter((event) => !search.kind || kindOf(event) === search.kind);
  return (
    <Loaded
      query={query}
      loading={<SkeletonRows count={8} />}
      isEmpty={() => events.length === 0}
      empty={<Empty title={w.task.noEvents} />}
    >
      {() => (
        <>
          <div className="flex flex-wrap items-center gap-1.5 border-b border-line px-4 py-2">
            {['', ...kinds].map((kind) => (
              <button
                key={kind}
                type="button"
                aria-pressed={(search.kind ?? '') === kind}
                onClick={() => onSearch({ kind: kind || undefined })}
                className={classes(
                  'h-6 rounded-full px-2.5 text-xs',
                  (search.kind ?? '') === kind ? 'bg-accent-soft text-accent' : 'text-muted hover:bg-hover',
                )}
              >
                {kind ? (subjects[kind] ?? kind) : w.common.all}
              </button>
            ))}
          </div>
          <ol className="divide-y divide-line">
            {shown.map((event) => (
              <li
                key={event.cursor}
                className="grid grid-cols-[auto_minmax(0,1fr)_auto] items-baseline gap-3 px-4 py-2"
              >
                <span aria-hidden="true" className={classes('size-1.5 rounded-full', toneOf(event.kind))} />
                <div className="min-w-0">
                  <p className="text-sm break-words">{tell(event.text)}</p>
                  <p className="truncate text-xs text-faint">
                    <span className="font-mono">{event.kind}</span>
                    {event.rank == null ? null : ` · rank ${event.rank}`}
                    {event.principal?.name ? ` · ${nameOf(event.principal.name)}` : null}
                  </p>
                </div>
                <time
                  dateTime={new Date(event.time).toISOString()}
                  title={date(event.time)}
                  className="text-xs whitespace-nowrap text-faint"
                >
                  {ago(event.time, now)}
                </time>
              </li>
            ))}
          </ol>
          {query.hasNextPage ? (
            <More isBusy={query.isFetchingNextPage} onMore={() => void query.fetchNextPage()}>
              {w.common.more}
            </More>
          ) : null}
        </>
      )}
    </Loaded>
  );
}

function toneOf(kind: string): string {
  if (/failed|lost|refused|killed/.test(kind)) return 'bg-bad-fill';
  if (/restart|stop|superseded|foreign|offline|suspect/.test(kind)) return 'bg-warn-fill';
  if (/running|succeeded/.test(kind)) return 'bg-good-fill';
  return 'bg-idle-fill';
}
