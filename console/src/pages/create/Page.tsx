import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Loaded } from '~/api/Loaded';
import { taskQuery } from '~/api/queries';
import { Card } from '~/ui/Card';
import { SkeletonRows } from '~/ui/Skeleton';
import { readDraft } from './draft';
import { Editor } from './Editor';
import { EMPTY, type Form, formOf } from './form';
import { withMaster } from './selection';

const route = getRouteApi('/training/create');

/** What the page begins with: the environments of the address, else a draft, else what is cloned, else nothing. */
export function Page() {
  const { from, env } = route.useSearch();
  if (from) return <Clone key={from} from={from} />;
  const draft = readDraft(localStorage, null) ?? EMPTY;
  const initial: Form = env ? { ...draft, ...withMaster(env.split(','), null) } : draft;
  return <Editor key="new" from={null} initial={initial} pristine={EMPTY} />;
}

function Clone({ from }: { from: string }) {
  const task = useQuery({ ...taskQuery(from), refetchInterval: false });
  return (
    <Loaded
      query={task}
      loading={
        <Card>
          <SkeletonRows count={8} />
        </Card>
      }
    >
      {(data) => <Editor from={from} initial={readDraft(localStorage, from) ?? formOf(data)} pristine={formOf(data)} />}
    </Loaded>
  );
}
