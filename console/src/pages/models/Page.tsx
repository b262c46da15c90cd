import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { client, q } from '~/api/client';
import { keys, modelsQuery } from '~/api/queries';
import { nameFilter, RegistryPage } from '~/api/RegistryPage';
import type { Model } from '~/api/types';
import { useAct } from '~/api/useAct';
import { useWhyNot } from '~/api/useWhyNot';
import { IconButton } from '~/ui/Button';
import { Confirm } from '~/ui/Confirm';
import { Copy } from '~/ui/Copy';
import { CubeIcon, TrashIcon } from '~/ui/icons';
import { useWords } from '~/words';
import { CreateModel } from './CreateModel';

const route = getRouteApi('/models');
const COMMAND = 'fermi model create llama2-7b --path /models/llama2-7b';

export function Page() {
  const { w } = useWords();
  const { q: text = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const models = useQuery(modelsQuery(nameFilter(text)));
  return (
    <RegistryPage
      words={w.models}
      note={w.models.noVersions}
      icon={<CubeIcon />}
      command={COMMAND}
      search={text}
      onSearch={(next) => void navigate({ search: next ? { q: next } : {}, replace: true })}
      query={models}
      row={(model) => <Row key={model.id} model={model} />}
      creating={(onClose) => <CreateModel onClose={onClose} />}
    />
  );
}

function Row({ model }: { model: Model }) {
  const { w, date } = useWords();
  const whyNot = useWhyNot();
  const [isAsked, setAsked] = useState(false);
  const remove = useAct({
    call: () => q(client.DELETE('/api/v1/models/{id}', { params: { path: { id: model.id } } })),
    changes: [keys.models],
    done: () => w.models.deleted,
    onDone: () => setAsked(false),
  });
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 px-4 py-3 md:grid-cols-[minmax(0,280px)_minmax(0,1fr)_auto]">
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
      <div className="order-last flex min-w-0 items-center gap-2 md:order-none">
        <code className="truncate font-mono text-xs text-muted" title={model.path ?? ''}>
          {model.path ?? '–'}
        </code>
        {model.path ? <Copy text={model.path} /> : null}
      </div>
      <IconButton
        size="sm"
        label={w.models.delete}
        disabledReason={whyNot(model, 'delete')}
        onClick={() => setAsked(true)}
      >
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
