import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { client, q } from '~/api/client';
import { Loaded } from '~/api/Loaded';
import { datasetsQuery, keys } from '~/api/queries';
import type { Dataset } from '~/api/types';
import { useAct } from '~/api/useAct';
import { Button, IconButton } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Confirm } from '~/ui/Confirm';
import { Copy } from '~/ui/Copy';
import { Empty } from '~/ui/Empty';
import { SearchInput } from '~/ui/Field';
import { DatabaseIcon, PlusIcon, TrashIcon } from '~/ui/icons';
import { PageHeader } from '~/ui/PageHeader';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { AddVersion } from './AddVersion';
import { CreateDataset } from './CreateDataset';

const route = getRouteApi('/datasets');
const COMMAND = 'fermi dataset create corpus --path /data/corpus';

export function Page() {
  const { w } = useWords();
  const { q: text = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const [isCreating, setCreating] = useState(false);
  const filter = text.replaceAll('"', '').trim();
  const datasets = useQuery(datasetsQuery(filter ? `name~"${filter}"` : undefined));
  return (
    <>
      <PageHeader
        title={w.datasets.title}
        actions={
          <Button tone="primary" icon={<PlusIcon />} onClick={() => setCreating(true)}>
            {w.datasets.create}
          </Button>
        }
      />
      <SearchInput
        label={w.datasets.search}
        value={text}
        onChange={(next) => void navigate({ search: next ? { q: next } : {}, replace: true })}
        className="mb-4 w-full sm:w-72"
      />
      <Card>
        <Loaded
          query={datasets}
          loading={<SkeletonRows count={5} className="h-12" />}
          isEmpty={(data) => data.items.length === 0}
          empty={
            filter ? (
              <Empty title={w.common.noMatch} />
            ) : (
              <Empty icon={<DatabaseIcon />} title={w.datasets.empty} hint={w.datasets.emptyHint} command={COMMAND} />
            )
          }
        >
          {(data) => (
            <ul className="divide-y divide-line">
              {data.items.map((dataset) => (
                <Row key={dataset.id} dataset={dataset} />
              ))}
            </ul>
          )}
        </Loaded>
      </Card>
      {isCreating ? <CreateDataset onClose={() => setCreating(false)} /> : null}
    </>
  );
}

function Row({ dataset }: { dataset: Dataset }) {
  const { w, date } = useWords();
  const [asked, setAsked] = useState<'version' | 'delete' | null>(null);
  const close = () => setAsked(null);
  const remove = useAct({
    call: () => q(client.DELETE('/api/v1/datasets/{id}', { params: { path: { id: dataset.id } } })),
    changes: [keys.datasets],
    done: () => w.datasets.deleted,
    onDone: close,
  });
  return (
    <li className="grid gap-3 px-4 py-3 md:grid-cols-[minmax(0,280px)_minmax(0,1fr)_auto]">
      <div className="min-w-0">
        <h2 className="truncate font-medium" title={dataset.name}>
          {dataset.name}
        </h2>
        <p className="truncate text-xs text-muted" title={dataset.description ?? ''}>
          {dataset.description}
        </p>
        <p className="text-xs text-faint">
          <span className="font-mono">{dataset.id}</span> · {date(dataset.createdAt)}
        </p>
      </div>
      <ul aria-label={w.datasets.versions} className="flex min-w-0 flex-col gap-1">
        {dataset.versions.length === 0 ? <li className="text-sm text-muted">{w.datasets.noVersions}</li> : null}
        {dataset.versions.map((version) => (
          <li key={version.id} className="flex min-w-0 items-center gap-2 text-sm">
            <span
              className="w-20 shrink-0 truncate rounded bg-track px-1.5 text-center text-xs"
              title={version.version}
            >
              {version.version}
            </span>
            <code className="truncate font-mono text-xs text-muted" title={version.path}>
              {version.path}
            </code>
            <Copy text={version.path} />
          </li>
        ))}
      </ul>
      <div className="flex items-start gap-1">
        <Button size="sm" icon={<PlusIcon />} onClick={() => setAsked('version')}>
          {w.datasets.addVersion}
        </Button>
        <IconButton size="sm" label={w.datasets.delete} onClick={() => setAsked('delete')}>
          <TrashIcon />
        </IconButton>
      </div>
      {asked === 'version' ? <AddVersion dataset={dataset} onClose={close} /> : null}
      <Confirm
        open={asked === 'delete'}
        onClose={close}
        title={w.datasets.delete}
        text={w.datasets.deleteText(dataset.name)}
        confirm={w.common.delete}
        cancel={w.common.cancel}
        isBusy={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
      />
    </li>
  );
}
