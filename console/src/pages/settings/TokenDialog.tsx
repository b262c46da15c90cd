import { useState } from 'react';
import { ActDialog } from '~/api/ActDialog';
import { ROLES, type RoleName } from '~/api/access';
import { client, q } from '~/api/client';
import { JoinCommand } from '~/api/JoinCommand';
import { serverAddress } from '~/api/join';
import { keys } from '~/api/queries';
import { Banner } from '~/ui/Banner';
import { Button } from '~/ui/Button';
import { Command } from '~/ui/Copy';
import { Dialog } from '~/ui/Dialog';
import { SelectField } from '~/ui/SelectField';
import { TextField } from '~/ui/TextField';
import { useWords } from '~/words';

const OWN = 'own';
const SCOPES = ['api', 'agent'] as const;
type Scope = (typeof SCOPES)[number];
const DAYS = ['7', '30', '90', '365'] as const;
const DAY_S = 86_400;

/** Makes a token, and shows it this once. */
export function TokenDialog({ onClose }: { onClose: () => void }) {
  const { w } = useWords();
  const [name, setName] = useState('');
  const [scope, setScope] = useState<Scope>('api');
  const [role, setRole] = useState<RoleName | typeof OWN>(OWN);
  const [days, setDays] = useState<(typeof DAYS)[number]>('90');
  const [made, setMade] = useState<{ token: string; name: string } | null>(null);
  if (made) return <Made {...made} scope={scope} onClose={onClose} />;
  const body = {
    name: name.trim(),
    scope,
    role: role === OWN || scope === 'agent' ? null : role,
    expiresInS: Number(days) * DAY_S,
  };
  return (
    <ActDialog
      title={w.settings.makeToken}
      submit={w.settings.makeToken}
      call={() => q(client.POST('/api/v1/tokens', { body }))}
      changes={[keys.tokens]}
      onDone={setMade}
      onClose={onClose}
    >
      {(refusedAt) => (
        <>
          <TextField
            label={w.settings.tokenName}
            isRequired
            hint={w.settings.tokenNameHint}
            error={refusedAt('name')}
            value={name}
            onChange={setName}
          />
          <SelectField
            label={w.settings.scope}
            hint={w.settings.scopeMay[scope]}
            error={refusedAt('scope')}
            value={scope}
            onChange={setScope}
            options={SCOPES.map((value) => ({ value, label: w.settings.scopes[value] }))}
          />
          {scope === 'api' ? (
            <SelectField
              label={w.settings.role}
              hint={role === OWN ? w.settings.roleOwnHint : w.settings.roleMay[role]}
              error={refusedAt('role')}
              value={role}
              onChange={setRole}
              options={[
                { value: OWN, label: w.settings.roleOwn },
                ...ROLES.map((value) => ({ value, label: w.settings.roles[value] })),
              ]}
            />
          ) : null}
          <SelectField
            label={w.settings.expires}
            error={refusedAt('expiresInS')}
            value={days}
            onChange={setDays}
            options={DAYS.map((value) => ({ value, label: w.settings.days(value) }))}
          />
        </>
      )}
    </ActDialog>
  );
}

type MadeProps = { token: string; name: string; scope: Scope; onClose: () => void };

function Made({ token, name, scope, onClose }: MadeProps) {
  const { w } = useWords();
  const tokenFile = `${name}-token`;
  const asks = `curl -H "Authorization: Bearer $(cat ${tokenFile})" ${serverAddress()}/api/v1/overview`;
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title={w.settings.tokenMade}
      footer={
        <Button tone="primary" onClick={onClose}>
          {w.settings.tokenKept}
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <Banner tone="warn">{w.settings.tokenOnce}</Banner>
        <Command text={token} />
        <p className="text-sm text-muted">{w.settings.tokenUse(tokenFile)}</p>
        {scope === 'agent' ? <JoinCommand joining={{ name, tokenFile }} /> : <Command text={asks} />}
      </div>
    </Dialog>
  );
}
