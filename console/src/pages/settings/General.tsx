import { useQuery } from '@tanstack/react-query';
import { Loaded } from '~/api/Loaded';
import { serverStatusQuery } from '~/api/queries';
import { Card } from '~/ui/Card';
import { Command } from '~/ui/Copy';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { Appearance } from './Appearance';
import { Loops } from './Loops';
import { Retention } from './Retention';
import { Server } from './Server';
import { SessionCard } from './SessionCard';

export function General() {
  const { w } = useWords();
  const status = useQuery(serverStatusQuery());
  const join = `fermi agent --server ${window.location.origin} --name $(hostname) --zone 北京可用区A`;
  return (
    <div className="grid items-start gap-4 pt-4 lg:grid-cols-2">
      <div className="flex min-w-0 flex-col gap-4">
        <SessionCard />
        <Card title={w.settings.appearance} bodyClass="p-4">
          <Appearance />
        </Card>
        <Card title={w.settings.join} bodyClass="flex flex-col gap-3 p-4">
          <p className="text-sm text-muted">{w.settings.joinHint}</p>
          <p className="text-sm text-muted">{w.settings.joinToken}</p>
          <Command text={`${join} --token-file ~/.fermi-token`} />
        </Card>
      </div>
      <Loaded
        query={status}
        loading={
          <Card title={w.settings.server}>
            <SkeletonRows count={6} />
          </Card>
        }
      >
        {(data) => <Server status={data} />}
      </Loaded>
      {status.data ? (
        <>
          <Retention status={status.data} />
          <Loops status={status.data} />
        </>
      ) : null}
    </div>
  );
}
