import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { explainQuery, OFTEN } from '~/api/queries';
import type { Explanation, Task } from '~/api/types';
import { Banner } from '~/ui/Banner';
import { prose } from '~/ui/prose';
import { useWords } from '~/words';
import type { TabName } from '../search';
import { Place } from './Place';

const QUIET = new Set(['running', 'succeeded']);

type WhyProps = { task: Task; isShort: boolean; onTab: (tab: TabName) => void };

/** Why it waits or failed, and what to do: one sentence each. */
export function Why({ task, isShort, onTab }: WhyProps) {
  const { w, say, tell, advise } = useWords();
  const isHung = task.hang != null;
  const isQuiet = QUIET.has(task.status) && !task.reason && !isHung;
  const isOver = task.endedAt != null;
  const explained = useQuery({ ...explainQuery(task.id), enabled: !isQuiet, refetchInterval: isOver ? false : OFTEN });
  if (isQuiet || !explained.data) return null;
  const { summary, advice, verdict, waitingFor, queue } = explained.data;
  const isBad = task.status === 'failed';
  const cause = say(verdict?.cause);
  return (
    <Banner tone={isBad ? 'bad' : task.status === 'stopped' ? 'info' : 'warn'} className="mb-4">
      {queue ? (
        <Place queue={queue} summary={say(summary)} />
      ) : (
        <p className="font-medium">{isBad && cause ? cause : tell(summary)}</p>
      )}
      {isBad && cause && !isShort ? <p>{tell(summary)}</p> : null}
      {advice && !isShort ? (
        <p className="mt-1 text-text">
          <span className="mr-2 text-muted">{w.task.advice}</span>
          {prose(advise(advice))}
        </p>
      ) : null}
      {/* Where it stands in the queue says who has the workers, unless several do. */}
      {queue && new Set(waitingFor.map((one) => one.taskId)).size < 2 ? null : <Waiting waitingFor={waitingFor} />}
      {isBad || isHung ? (
        <p className="mt-1.5 flex gap-4">
          <button type="button" className="font-medium underline underline-offset-2" onClick={() => onTab('diagnosis')}>
            {w.task.seeDiagnosis}
          </button>
          {isShort ? null : (
            <button type="button" className="underline underline-offset-2" onClick={() => onTab('logs')}>
              {w.task.seeLogs}
            </button>
          )}
        </p>
      ) : null}
    </Banner>
  );
}

/** Workers that are missing, and who has them. */
export function Waiting({ waitingFor }: { waitingFor: Explanation['waitingFor'] }) {
  const { say } = useWords();
  if (waitingFor.length === 0) return null;
  return (
    <ul className="mt-1 text-text">
      {waitingFor.slice(0, 8).map((one) => (
        <li key={`${one.environment} ${one.worker ?? ''}`}>
          {one.taskId ? (
            <Link
              to="/training/$id"
              params={{ id: one.taskId }}
              className="underline decoration-line-strong underline-offset-2"
            >
              {say(one.text)}
            </Link>
          ) : (
            say(one.text)
          )}
        </li>
      ))}
      {waitingFor.length > 8 ? <li className="text-muted">… +{waitingFor.length - 8}</li> : null}
    </ul>
  );
}
