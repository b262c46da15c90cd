import { useQuery } from '@tanstack/react-query';
import { Loaded } from '~/api/Loaded';
import { serverStatusQuery } from '~/api/queries';
import { Card } from '~/ui/Card';
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
  return (
    <div className="grid items-start gap-4 pt-4 lg:grid-cols-2">
      <div className="flex min-w-0 flex-col gap-4">
        <SessionCard />
        <Card title={w.settings.appearance} bodyClass="p-4">
          <Appearance />
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
