import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Loaded } from '~/api/Loaded';
import { serverStatusQuery } from '~/api/queries';
import { logOut } from '~/api/session';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Command } from '~/ui/Copy';
import { PageHeader } from '~/ui/PageHeader';
import { SkeletonRows } from '~/ui/Skeleton';
import { toast } from '~/ui/Toast';
import { useWords } from '~/words';
import { Appearance } from './Appearance';
import { Loops } from './Loops';
import { Retention } from './Retention';
import { Server } from './Server';

export function Page() {
  const { w } = useWords();
  const client = useQueryClient();
  const status = useQuery(serverStatusQuery());
  const join = `fermi agent --server ${window.location.origin} --name $(hostname) --zone 北京可用区A`;
  return (
    <>
      <PageHeader title={w.settings.title} />
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <Card title={w.settings.appearance} bodyClass="p-4">
          <Appearance />
        </Card>
        <Card title={w.settings.join} bodyClass="flex flex-col gap-3 p-4">
          <p className="text-sm text-muted">{w.settings.joinHint}</p>
          <p className="text-sm text-muted">{w.settings.joinToken}</p>
          <Command text={`${join} --token-file ~/.fermi-token`} />
        </Card>
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
        <Card title={w.settings.access} bodyClass="flex flex-col items-start gap-3 p-4">
          <p className="text-sm text-muted">{w.settings.accessText}</p>
          <p className="text-sm text-muted">{w.settings.accessFile}</p>
          <Button
            onClick={() => {
              void logOut().then((isDone) => {
                if (isDone) toast('info', w.settings.loggedOut);
                void client.invalidateQueries();
              });
            }}
          >
            {w.settings.logOut}
          </Button>
        </Card>
        {status.data ? (
          <>
            <Retention status={status.data} />
            <Loops status={status.data} />
          </>
        ) : null}
      </div>
    </>
  );
}
