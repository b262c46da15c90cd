import { Link } from '@tanstack/react-router';
import { clauses } from '~/api/clauses';
import type { Explanation } from '~/api/types';
import { useNow } from '~/ui/now';
import { useWords } from '~/words';
import { sentence } from '~/words/format';

type PlaceProps = { queue: NonNullable<Explanation['queue']>; summary: string };

/** Where it stands in the queue: what it waits for, for whom, and until when. */
export function Place({ queue, summary }: PlaceProps) {
  const { w, number, date, duration } = useWords();
  const now = useNow();
  const [first = '', ...rest] = clauses(summary).map(sentence);
  const { before, startsBy, isPromised } = queue;
  return (
    <>
      <p className="font-medium">
        <Linked text={first} />
      </p>
      {rest.map((clause) => (
        <p key={clause} className="text-text">
          <Linked text={clause} />
        </p>
      ))}
      <dl className="mt-2 flex flex-wrap gap-x-6 gap-y-1 text-xs text-text [&_dt]:mr-2 [&_dt]:text-muted [&>div]:flex">
        <div>
          <dt>{w.task.queueBefore}</dt>
          <dd>{before === 0 ? w.task.queueFirst : w.task.queueCount(number(before))}</dd>
        </div>
        {startsBy == null ? null : (
          <div>
            <dt>{isPromised ? w.task.startsByLatest : w.task.startsByExpected}</dt>
            <dd>{w.task.startsIn(date(startsBy), duration(Math.max(0, startsBy - now)))}</dd>
          </div>
        )}
      </dl>
    </>
  );
}

/** A sentence whose tasks one can open. */
function Linked({ text }: { text: string }) {
  let at = 0;
  return text.split(/(\btask-\d+\b)/).map((part) => {
    at += part.length;
    return /^task-\d+$/.test(part) ? (
      <Link
        key={at}
        to="/training/$id"
        params={{ id: part }}
        className="underline decoration-line-strong underline-offset-2"
      >
        {part}
      </Link>
    ) : (
      part
    );
  });
}
