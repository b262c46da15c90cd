import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Banner } from '~/ui/Banner';
import { Button } from '~/ui/Button';
import { Dialog } from '~/ui/Dialog';
import { SelectField } from '~/ui/SelectField';
import { TextField } from '~/ui/TextField';
import { useWords, type Words } from '~/words';
import { ActDialog } from './ActDialog';
import { sessionQuery } from './access';
import { client, q } from './client';
import { JoinCommand } from './JoinCommand';
import { type Joining, parseLabels } from './join';
import { keys } from './queries';
import type { Environment } from './types';

const KINDS: Environment['kind'][] = ['jupyter', 'vscode', 'ssh', 'custom'];
const HOURS = ['1', '12', '24', '168'] as const;
const HOUR_S = 3_600;

type Wish = Omit<Joining, 'labels'> & { labels: string; uses: string; hours: (typeof HOURS)[number] };
const START: Wish = { name: '', zone: '', labels: '', kind: 'custom', workers: '', uses: '1', hours: '1' };

/** The one command that makes a machine an environment. Where a token is needed it is made, and shown this once. */
export function JoinDialog({ onClose }: { onClose: () => void }) {
  const { w } = useWords();
  const [wish, setWish] = useState(START);
  const [token, setToken] = useState<string | null>(null);
  const session = useQuery(sessionQuery());
  const joining: Joining = {
    name: wish.name.trim(),
    zone: wish.zone.trim(),
    labels: parseLabels(wish.labels),
    kind: wish.kind,
    workers: wish.workers.trim(),
  };
  const body = {
    name: joining.name || 'join',
    scope: 'agent',
    expiresInS: Number(wish.hours) * HOUR_S,
    uses: Number(wish.uses),
    zone: joining.zone || null,
    labels: joining.labels,
  };
  const fields = { w, wish, onChange: (change: Partial<Wish>) => setWish((before) => ({ ...before, ...change })) };
  if (token || session.data?.isOpen) {
    return (
      <Dialog
        open
        onOpenChange={onClose}
        title={w.environments.joinTitle}
        description={w.environments.joinHint}
        footer={<Button onClick={onClose}>{token ? w.settings.tokenKept : w.common.close}</Button>}
      >
        <div className="flex flex-col gap-4">
          {token ? <Banner tone="warn">{w.environments.joinOnce}</Banner> : fieldsOf(fields)}
          <JoinCommand joining={joining} token={token ?? undefined} />
        </div>
      </Dialog>
    );
  }
  return (
    <ActDialog
      title={w.environments.joinTitle}
      description={w.environments.joinToken}
      submit={w.environments.joinMake}
      call={() => q(client.POST('/api/v1/tokens', { body }))}
      changes={[keys.tokens]}
      onDone={(made) => setToken(made.token)}
      onClose={onClose}
    >
      {(refusedAt) => fieldsOf({ ...fields, refusedAt })}
    </ActDialog>
  );
}

type Asked = {
  w: Words;
  wish: Wish;
  onChange: (change: Partial<Wish>) => void;
  /** What is refused of a token; where none is made, nothing is asked of it. */
  refusedAt?: (field: string) => string | null;
};

function fieldsOf({ w, wish, onChange, refusedAt }: Asked) {
  return (
    <div className="grid items-start gap-4 sm:grid-cols-2">
      <TextField
        label={w.environments.joinName}
        hint={w.environments.joinNameHint}
        error={refusedAt?.('name')}
        value={wish.name}
        onChange={(name) => onChange({ name })}
      />
      <TextField
        label={w.environments.joinZone}
        hint={w.environments.joinZoneHint}
        error={refusedAt?.('zone')}
        value={wish.zone}
        onChange={(zone) => onChange({ zone })}
      />
      {refusedAt ? (
        <>
          <TextField
            label={w.environments.joinUses}
            error={refusedAt('uses')}
            type="number"
            min={1}
            value={wish.uses}
            onChange={(uses) => onChange({ uses })}
          />
          <SelectField
            label={w.settings.expires}
            error={refusedAt('expiresInS')}
            value={wish.hours}
            options={HOURS.map((value) => ({ value, label: w.environments.joinHours[value] }))}
            onChange={(hours) => onChange({ hours })}
          />
        </>
      ) : null}
      <SelectField
        label={w.environments.joinKind}
        value={wish.kind}
        options={KINDS.map((value) => ({ value, label: w.environments.kinds[value] }))}
        onChange={(kind) => onChange({ kind })}
      />
      <TextField
        label={w.environments.joinWorkers}
        hint={w.environments.joinWorkersHint}
        type="number"
        min={1}
        value={wish.workers}
        onChange={(workers) => onChange({ workers })}
      />
      <div className="sm:col-span-2">
        <TextField
          label={w.environments.labels}
          hint={w.environments.joinLabelsHint}
          error={refusedAt?.('labels')}
          placeholder="team=nlp"
          value={wish.labels}
          onChange={(labels) => onChange({ labels })}
        />
      </div>
    </div>
  );
}
