import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { client, q } from '~/api/client';
import { Loaded } from '~/api/Loaded';
import { keys, modelsQuery } from '~/api/queries';
import type { Model } from '~/api/types';
import { useAct } from '~/api/useAct';
import { Button, IconButton } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Confirm } from '~/ui/Confirm';
import { Copy } from '~/ui/Copy';
import { Empty } from '~/ui/Empty';
import { SearchInput } from '~/ui/Field';
import { CubeIcon, PlusIcon, TrashIcon } from '~/ui/icons';
import { PageHeader } from '~/ui/PageHeader';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { CreateModel } from './CreateModel';

const route = getRouteApi('/models');
const COMMAND = 'fermi model create llama2-7b --path /models/llama2-7b';

export function Page() {
  const { w } = useWords();
  const { q: text = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const [isCreating, setCreating] = useState(false);
  const filter = text.replaceAll('"', '').trim();
  const models = useQuery(modelsQuery(filter ? `name~"${filter}"` : undefined));
  return (
    <>
      <PageHeader
        title={w.models.title}
        note={w.models.noVersions}
        actions={
          <Button tone="primary" icon={<PlusIcon />} onClick={() => setCreating(true)}>
            {w.models.create}
          </Button>
        }
      />
      <SearchInput
        label={w.models.search}
        value={text}
        onChange={(next) => void navigate({ search: next ? { q: next } : {}, replace: true })}
        className="mb-4 w-full sm:w-72"
      />
      <Card>
        <Loaded
          query={models}
          loading={<SkeletonRows count={5} className="h-12" />}
          isEmpty={(data) => data.items.length === 0}
          empty={
            filter ? (
              <Empty title={w.common.noMatch} />
            ) : (
              <Empty icon={<CubeIcon />} title={w.models.empty} hint={w.models.emptyHint} command={COMMAND} />
            )
          }
        >
          {(data) => (
            <ul className="divide-y divide-line">
              {data.items.map((model) => (
                <Row key={model.id} model={model} />
              ))}
            </ul>
          )}
        </Loaded>
      </Card>
      {isCreating ? <CreateModel onClose={() => setCreating(false)} /> : null}
    </>
  );
}

function Row({ model }: { model: Model }) {
  const { w, date } = useWords();
  const [isAsked, setAsked] = useState(false);
  const remove = useAct({
    call: () => q(client.DELETE('/api/v1/models/{id}', { params: { path: { id: model.id } } })),
    changes: [keys.models],
    done: () => w.models.deleted,
    onDone: () => setAsked(false),
  });
  return (
    <li className="grid items-center gap-3 px-4 py-3 md:grid-cols-[minmax(0,280px)_minmax(0,1fr)_auto]">
      <div className="min-w-0">
        <h2 className="truncate font-medium" title={model.name}>
          {model.name}
        </h2>
        <p className="truncate text-xs text-muted" title={model.description ?? ''}>
          {model.description}
        </p>
        <p className="text-xs text-faint">
          <span className="font-mono">{model.id}</span> · {date(model.createdAt)}
        </p>
      </div>
      <div className="flex min-w-0 items-center gap-2">
        <code className="truncate font-mono text-xs text-muted" title={model.path ?? ''}>
          {model.path ?? '–'}
        </code>
        {model.path ? <Copy text={model.path} /> : null}
      </div>
      <IconButton size="sm" label={w.models.delete} onClick={() => setAsked(true)}>
        <TrashIcon />
      </IconButton>
      <Confirm
        open={isAsked}
        onClose={() => setAsked(false)}
        title={w.models.delete}
        text={w.models.deleteText(model.name)}
        confirm={w.common.delete}
        cancel={w.common.cancel}
        isBusy={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
      />
    </li>
  );
}
