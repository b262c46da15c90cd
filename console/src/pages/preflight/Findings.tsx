import { queryOptions, useQuery } from '@tanstack/react-query';
import { client, q } from '~/api/client';
import { Loaded } from '~/api/Loaded';
import type { CreateRequest, Environment } from '~/api/types';
import { Card } from '~/ui/Card';
import { Empty } from '~/ui/Empty';
import { CheckIcon, WarnIcon } from '~/ui/icons';
import { prose } from '~/ui/prose';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';

/** What the server would warn of, were a task created there; nothing is created. */
const findingsQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: ['preflight', ids],
    refetchInterval: 10_000,
    queryFn: ({ signal }) => {
      const distributedConfig = { nodeIds: [...ids], masterNode: ids[0] ?? null, framework: 'pytorch-ddp' };
      const body = { taskName: 'preflight', distributedConfig, command: { argv: ['true'] } };
      return q(client.POST('/api/v1/training-tasks/preview', { body: body as unknown as CreateRequest, signal }));
    },
  });

export function Findings({ chosen }: { chosen: readonly Environment[] }) {
  const { w, tell, advise } = useWords();
  const found = useQuery(findingsQuery(chosen.map((environment) => environment.id)));
  return (
    <Card title={w.preflight.findings}>
      <Loaded
        query={found}
        loading={<SkeletonRows count={2} />}
        isEmpty={(data) => data.warnings.length === 0}
        empty={<Empty icon={<CheckIcon />} title={w.preflight.ready} hint={w.preflight.readyHint} />}
      >
        {(data) => (
          <ul className="divide-y divide-line">
            {data.warnings.map((warning) => (
              <li key={warning.id} className="flex items-start gap-2.5 px-4 py-2.5 text-sm">
                <WarnIcon className="mt-0.5 shrink-0 text-warn" />
                <div>
                  <p>{tell(warning.text)}</p>
                  {warning.hint ? <p className="text-xs text-muted">{prose(advise(warning.hint))}</p> : null}
                </div>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}
