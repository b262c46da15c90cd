import { Link } from '@tanstack/react-router';
import type { Event } from '~/api/types';
import { Empty } from '~/ui/Empty';
import { useNow } from '~/ui/now';
import { useWords } from '~/words';

/** What happened last, newest first. */
export function LastEvents({ events }: { events: readonly Event[] }) {
  const { w, tell, ago, date } = useWords();
  const now = useNow();
  if (events.length === 0) return <Empty title={w.overview.noEvents} />;
  return (
    <ol className="divide-y divide-line">
      {events.slice(0, 14).map((event) => (
        <li key={event.cursor} className="flex items-baseline gap-3 px-4 py-2">
          <p className="line-clamp-2 min-w-0 flex-1 text-sm" title={tell(event.text)}>
            {event.taskId ? <span className="mr-1.5 font-mono text-xs text-faint">{event.taskId}</span> : null}
            {event.taskId ? (
              <Link to="/training/$id" params={{ id: event.taskId }} className="hover:text-accent hover:underline">
                {tell(event.text)}
              </Link>
            ) : (
              tell(event.text)
            )}
          </p>
          <time
            dateTime={new Date(event.time).toISOString()}
            title={date(event.time)}
            className="shrink-0 text-xs text-faint"
          >
            {ago(event.time, now)}
          </time>
        </li>
      ))}
    </ol>
  );
}
