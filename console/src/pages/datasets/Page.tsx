import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { client, q } from '~/api/client';
import { datasetsQuery, keys } from '~/api/queries';
import { nameFilter, RegistryPage } from '~/api/RegistryPage';
import type { Dataset } from '~/api/types';
import { useAct } from '~/api/useAct';
import { useWhyNot } from '~/api/useWhyNot';
import { Button, IconButton } from '~/ui/Button';
import { Confirm } from '~/ui/Confirm';
import { Copy } from '~/ui/Copy';
import { DatabaseIcon, PlusIcon, TrashIcon } from '~/ui/icons';
import { useWords } from '~/words';
import { AddVersion } from './AddVersion';
import { CreateDataset } from './CreateDataset';

const route = getRouteApi('/datasets');
const COMMAND = 'fermi dataset create corpus --path /data/corpus';

export function Page() {
  const { w } = useWords();
  const { q: text = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const datasets = useQuery(datasetsQuery(nameFilter(text)));
  return (
    <RegistryPage
      words={w.datasets}
      icon={<DatabaseIcon />}
      command={COMMAND}
      search={text}
      onSearch={(next) => void navigate({ search: next ? { q: next } : {}, replace: true })}
      query={datasets}
      row={(dataset) => <Row key={dataset.id} dataset={dataset} />}
      creating={(onClose) => <CreateDataset onClose={onClose} />}
    />
  );
}

function Row({ dataset }: { dataset: Dataset }) {
  const { w, date } = useWords();
  const whyNot = useWhyNot();
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
        <Button
          size="sm"
          icon={<PlusIcon />}
          disabledReason={whyNot(dataset, 'change')}
          onClick={() => setAsked('version')}
        >
          {w.datasets.addVersion}
        </Button>
        <IconButton
          size="sm"
          label={w.datasets.delete}
          disabledReason={whyNot(dataset, 'delete')}
          onClick={() => setAsked('delete')}
        >
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
