import { useQuery } from '@tanstack/react-query';
import { commandLine } from '~/api/argv';
import { Loaded } from '~/api/Loaded';
import { launchQuery } from '~/api/queries';
import type { Launch } from '~/api/types';
import { Card } from '~/ui/Card';
import { Copy } from '~/ui/Copy';
import { LongText } from '~/ui/LongText';
import { Select } from '~/ui/Select';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import type { TabProps } from '../../Page';

/** What is to be started: command, variables and files, rank by rank. */
export function Planned({ task, search, onSearch }: TabProps) {
  const launch = useQuery(launchQuery(task.id));
  return (
    <Loaded query={launch} loading={<SkeletonRows count={4} className="h-24" />}>
      {(data) => (
        <Shown launch={data} rank={search.rank ?? 0} onRank={(rank) => onSearch({ rank: rank || undefined })} />
      )}
    </Loaded>
  );
}

function Shown({ launch, rank, onRank }: { launch: Launch; rank: number; onRank: (rank: number) => void }) {
  const { w, say } = useWords();
  const ranks = launch.nodes.flatMap((node) => node.ranks.map((one) => ({ ...one, node: node.name })));
  const shown = ranks.find((one) => one.rank === rank) ?? ranks[0];
  const line = commandLine(launch.argv);
  return (
    <div className="flex flex-col gap-4">
      <Card title={w.task.argv} actions={<Copy text={line} />} bodyClass="px-4 py-3">
        <code className="font-mono text-xs break-all whitespace-pre-wrap">{line}</code>
        {launch.directory ? (
          <p className="mt-2 text-xs text-muted">
            {w.task.directory} <code className="font-mono text-text">{launch.directory}</code>
          </p>
        ) : null}
      </Card>
      {launch.notes.length > 0 ? (
        <Card title={w.task.notes}>
          <ul className="list-disc space-y-1 py-3 pr-4 pl-8 text-sm">
            {launch.notes.map((note) => (
              <li key={note.en}>{say(note)}</li>
            ))}
          </ul>
        </Card>
      ) : null}
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <Card
          title={w.task.envAll}
          note={w.task.launchBrackets}
          actions={<Copy text={lines(launch.env)} label={w.task.copyAll} />}
        >
          <Variables env={launch.env} />
        </Card>
        {shown ? (
          <Card
            title={w.task.envOf(String(shown.rank))}
            actions={
              <>
                <Select
                  aria-label={w.task.chooseRank}
                  value={String(shown.rank)}
                  options={ranks.map((one) => ({ value: String(one.rank), label: `${one.node}:${one.rank}` }))}
                  onChange={(next) => onRank(Number(next))}
                  className="!h-7"
                />
                <Copy text={lines({ ...launch.env, ...shown.env })} label={w.task.copyAll} />
              </>
            }
          >
            <Variables env={shown.env} none={w.task.rankEnvNone} />
          </Card>
        ) : null}
      </div>
      {launch.files.map((file) => (
        <Card
          key={file.path}
          title={<code className="font-mono text-xs">{file.path}</code>}
          actions={<Copy text={file.text} />}
        >
          <LongText label={file.path} text={file.text} className="px-4 py-3" />
        </Card>
      ))}
      {launch.files.length === 0 ? (
        <Card title={w.task.files} bodyClass="px-4 py-3 text-sm text-muted">
          {w.task.noFiles}
        </Card>
      ) : null}
    </div>
  );
}

const lines = (env: Record<string, string>) =>
  Object.entries(env)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n');

function Variables({ env, none }: { env: Record<string, string>; none?: string }) {
  const { w } = useWords();
  const entries = Object.entries(env);
  if (entries.length === 0) return <p className="px-4 py-3 text-sm text-muted">{none ?? w.common.none}</p>;
  return (
    <dl className="max-h-120 divide-y divide-line overflow-auto">
      {entries.map(([key, value]) => (
        <div key={key} className="grid grid-cols-[minmax(0,2fr)_minmax(0,3fr)] gap-3 px-4 py-1.5 font-mono text-xs">
          <dt className="break-all text-muted">{key}</dt>
          <dd className="break-all">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
