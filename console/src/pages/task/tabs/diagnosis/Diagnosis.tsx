import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Loaded } from '~/api/Loaded';
import { explainQuery, OFTEN } from '~/api/queries';
import type { Explanation, Verdict } from '~/api/types';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Copy } from '~/ui/Copy';
import { classes } from '~/ui/classes';
import { CheckIcon, WarnIcon } from '~/ui/icons';
import { prose } from '~/ui/prose';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { exitWords } from '../../facts';
import { Waiting } from '../../header/Why';
import type { TabProps } from '../../Page';
import { Stacks } from './Stacks';

/** The verdict in a sentence, what it rests on, and what to do. */
export function Diagnosis({ task, onSearch }: TabProps) {
  const explained = useQuery({ ...explainQuery(task.id), refetchInterval: task.endedAt == null ? OFTEN : false });
  return (
    <Loaded query={explained} loading={<SkeletonRows count={3} className="h-24" />}>
      {(data) => (
        <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_360px]">
          <div className="flex min-w-0 flex-col gap-4">
            <Sentence
              explained={data}
              isHung={task.hang != null}
              onLogs={(ranks) => onSearch({ tab: 'logs', ranks, line: undefined })}
            />
            {data.verdict ? <Evidence verdict={data.verdict} /> : null}
            {task.status === 'running' ? <Stacks task={task} /> : null}
          </div>
          <Beside explained={data} />
        </div>
      )}
    </Loaded>
  );
}

type SentenceProps = {
  explained: Explanation;
  /** It runs, but does not move. */
  isHung: boolean;
  onLogs: (ranks: string | undefined) => void;
};

function Sentence({ explained, isHung, onLogs }: SentenceProps) {
  const { w, say, tell, advise } = useWords();
  const { verdict, summary, advice, status, waitingFor } = explained;
  const isBad = status === 'failed' || (verdict != null && verdict.class != null);
  const cause = say(verdict?.cause);
  return (
    <Card bodyClass="flex flex-col gap-4 p-5">
      <div className="flex items-start gap-3">
        <span
          className={classes(
            'flex size-8 shrink-0 items-center justify-center rounded-full',
            isBad ? 'bg-bad-soft text-bad' : isHung ? 'bg-warn-soft text-warn' : 'bg-good-soft text-good',
          )}
        >
          {isBad || isHung ? <WarnIcon /> : <CheckIcon />}
        </span>
        <div className="min-w-0">
          <h2 className="text-lg font-semibold">{cause || tell(summary)}</h2>
          {cause ? <p className="mt-0.5 text-sm text-muted">{tell(summary)}</p> : null}
          {isBad || isHung ? null : <p className="mt-0.5 text-sm text-muted">{w.task.noVerdictHint}</p>}
          <Waiting waitingFor={waitingFor} />
        </div>
      </div>
      {advice ? (
        <Part label={w.task.advice}>
          <p className="text-sm leading-6">{prose(advise(advice))}</p>
        </Part>
      ) : null}
      {verdict?.first ? (
        <dl className="grid grid-cols-2 gap-3 border-t border-line pt-4 text-sm sm:grid-cols-4">
          <Fact label={w.task.firstFailed}>{`${verdict.first.node}:${verdict.first.rank}`}</Fact>
          <Fact label={w.task.exit}>{exitWords(verdict.first.exitText, w.task.exitCode)}</Fact>
          {verdict.class ? <Fact label={w.task.whoseMatter}>{w.task.classes[verdict.class]}</Fact> : null}
          {verdict.signature ? (
            <Fact label={w.task.signature}>
              <code className="font-mono text-xs">{verdict.signature}</code>
            </Fact>
          ) : null}
        </dl>
      ) : null}
      {isBad ? (
        <div>
          <Button onClick={() => onLogs(verdict?.first ? String(verdict.first.rank) : undefined)}>
            {w.task.jumpError}
          </Button>
        </div>
      ) : null}
    </Card>
  );
}

/** More that failed afterwards are counted. */
const SHOWN = 50;

function Evidence({ verdict }: { verdict: Verdict }) {
  const { w, say, duration, number } = useWords();
  const isSame = verdict.evidence.join('\n') === verdict.traceback.join('\n');
  return (
    <>
      {verdict.traceback.length > 0 ? (
        <Card title={w.task.traceback} actions={<Copy text={verdict.traceback.join('\n')} />}>
          <Lines lines={verdict.traceback} strong={verdict.exception} />
        </Card>
      ) : null}
      {verdict.evidence.length > 0 && !isSame ? (
        <Card title={w.task.evidence} actions={<Copy text={verdict.evidence.join('\n')} />}>
          <Lines lines={verdict.evidence} strong={verdict.exception} />
        </Card>
      ) : null}
      {verdict.others.length > 0 ? (
        <Card title={w.task.others} note={say(verdict.othersSummary)}>
          <ul className="divide-y divide-line">
            {verdict.others.slice(0, SHOWN).map((other) => (
              <li key={other.rank} className="flex gap-4 px-4 py-2 text-sm">
                <span className="font-mono">{`${other.node}:${other.rank}`}</span>
                <span className="text-muted">{exitWords(other.exitText, w.task.exitCode)}</span>
                <span className="ml-auto text-xs text-faint">
                  {w.task.after(other.afterMs < 10_000 ? `${number(other.afterMs)} ms` : duration(other.afterMs))}
                </span>
              </li>
            ))}
            {verdict.others.length > SHOWN ? (
              <li className="px-4 py-2 text-sm text-muted">… +{number(verdict.others.length - SHOWN)}</li>
            ) : null}
          </ul>
        </Card>
      ) : null}
    </>
  );
}

function Lines({ lines, strong }: { lines: readonly string[]; strong?: string | null | undefined }) {
  return (
    <pre className="overflow-x-auto px-4 py-3 font-mono text-xs leading-5 whitespace-pre-wrap">
      {lines.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no name of their own
        <span key={at} className={line === strong ? 'block break-words font-semibold text-bad' : 'block break-words'}>
          {line || ' '}
        </span>
      ))}
    </pre>
  );
}

function Beside({ explained }: { explained: Explanation }) {
  const { w, say, tell, number, clock } = useWords();
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Card
        title={w.task.attemptsTitle}
        note={w.task.restartsOf(number(explained.restartsUsed), number(explained.maxRestarts))}
      >
        <ol className="divide-y divide-line">
          {[...explained.attempts].reverse().map((attempt) => (
            <li key={attempt.number} className="px-4 py-2 text-sm">
              <p className="flex gap-2">
                <span className="font-medium">{w.task.attemptOf(number(attempt.number))}</span>
                <span className="text-muted">{say(attempt.statusText)}</span>
                <span className="ml-auto text-xs leading-5 text-faint">{clock(attempt.startedAt)}</span>
              </p>
              {attempt.resumed ? <p className="text-xs text-muted">{w.task.resumed}</p> : null}
              {attempt.verdict ? <p className="text-xs text-muted">{tell(attempt.verdict.headline)}</p> : null}
            </li>
          ))}
        </ol>
      </Card>
      <Card title={w.task.nodesAsked}>
        <ul className="max-h-80 divide-y divide-line overflow-y-auto">
          {explained.nodes.map((node) => (
            <li key={node.environment} className="px-4 py-2 text-sm text-muted">
              {tell(node.text)}
            </li>
          ))}
        </ul>
      </Card>
    </div>
  );
}

function Part({ label, children }: { label: string; children: ReactNode }) {
  return (
    <section className="rounded-md bg-sunken px-4 py-3">
      <h3 className="mb-1 text-xs font-medium text-muted">{label}</h3>
      {children}
    </section>
  );
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-muted">{label}</dt>
      <dd className="break-words">{children}</dd>
    </div>
  );
}
