import { client, q } from '~/api/client';
import { Problem } from '~/api/Loaded';
import type { Stacks as Found, Task } from '~/api/types';
import { useAct } from '~/api/useAct';
import { useWhyNot } from '~/api/useWhyNot';
import { ranksText } from '~/logs/ranks';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { useWords } from '~/words';

/** Where all ranks of a running task stand, asked when somebody wants to know: those at the same line together. */
export function Stacks({ task }: { task: Task }) {
  const { w } = useWords();
  const whyNot = useWhyNot();
  const ask = useAct({
    call: () => q(client.POST('/api/v1/training-tasks/{id}/stacks', { params: { path: { id: task.id } } })),
    changes: [],
    isQuiet: true,
  });
  return (
    <Card
      title={w.task.stacks}
      note={w.task.stacksNote}
      actions={
        <Button
          size="sm"
          isBusy={ask.isPending}
          // Who may stop its processes may look into them.
          disabledReason={whyNot(task, 'stop')}
          onClick={() => ask.mutate(undefined)}
        >
          {ask.data ? w.task.stacksAgain : w.task.stacksAsk}
        </Button>
      }
    >
      {ask.error ? <Problem error={ask.error} /> : ask.data ? <Groups found={ask.data} /> : null}
    </Card>
  );
}

/** Where packages are installed says nothing; what is in them does. */
const shortPath = (file: string) => file.replace(/^.*\/(?:site|dist)-packages\//, '…/');

function Groups({ found: { groups, silent, silentNodes } }: { found: Found }) {
  const { w } = useWords();
  return (
    <div aria-live="polite" className="divide-y divide-line">
      {groups
        .filter(({ frames }) => frames.length > 0)
        .map(({ ranks, frames }) => (
          <section key={ranks.join()} className="px-4 py-3">
            <h3 className="mb-1 text-xs font-medium text-muted">{`rank ${ranksText(ranks)}`}</h3>
            <ol className="font-mono text-xs leading-5 [overflow-wrap:anywhere]">
              {frames.map((frame, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a function may stand twice in a stack, and nothing moves
                <li key={at} className={at === 0 ? 'font-semibold' : undefined}>
                  {frame.function}{' '}
                  <span className="font-normal text-muted" title={`${frame.file}:${frame.line}`}>
                    {shortPath(frame.file)}:{frame.line}
                  </span>
                </li>
              ))}
            </ol>
          </section>
        ))}
      {silent.length > 0 ? (
        <p className="px-4 py-3 text-sm text-muted">{w.task.stacksSilent(ranksText(silent))}</p>
      ) : null}
      {silentNodes.length > 0 ? (
        <p className="px-4 py-3 text-sm text-muted">{w.task.stacksSilentNodes(silentNodes.join(', '))}</p>
      ) : null}
    </div>
  );
}
