import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { Loaded } from '~/api/Loaded';
import { taskQuery } from '~/api/queries';
import { Card } from '~/ui/Card';
import { PageHeader } from '~/ui/PageHeader';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { readDraft } from './draft';
import { Editor } from './Editor';
import { EMPTY, type Form, formOf } from './form';
import { withMaster } from './selection';

const route = getRouteApi('/training/create');

/** What is cloned, else a draft with the environments and the model that the address names. */
export function Page() {
  const { from, env, model, mode } = route.useSearch();
  const navigate = route.useNavigate();
  useEffect(() => {
    // They are in the draft now, where they can be changed.
    if (env || model || mode)
      void navigate({ search: ({ env: _, model: __, mode: ___, ...others }) => others, replace: true });
  }, [env, model, mode, navigate]);
  if (from) return <Clone key={from} from={from} />;
  const draft = readDraft(localStorage, null) ?? EMPTY;
  const chosen = env ? { mode: 'existing' as const, ...withMaster(env.split(','), null) } : {};
  const initial: Form = { ...draft, ...chosen, ...(model ? { modelId: model } : {}), ...(mode ? { mode } : {}) };
  return <Editor key="new" from={null} initial={initial} pristine={EMPTY} />;
}

function Clone({ from }: { from: string }) {
  const { w } = useWords();
  const task = useQuery({ ...taskQuery(from), refetchInterval: false });
  // What a task tells of itself changes while it runs; what was asked for does not.
  const spec = task.data?.spec;
  const copy = useMemo(() => spec && formOf({ spec }), [spec]);
  if (copy) {
    return <Editor from={from} initial={readDraft(localStorage, from) ?? copy} pristine={copy} />;
  }
  return (
    <>
      <PageHeader title={w.create.title} note={w.create.cloneOf(from)} />
      <Card>
        <Loaded query={task} loading={<SkeletonRows count={8} />}>
          {() => null}
        </Loaded>
      </Card>
    </>
  );
}
