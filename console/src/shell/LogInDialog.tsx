import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { ApiError } from '~/api/error';
import { companyLogIn, logIn, useLogInMissing } from '~/api/session';
import { Button, buttonClass } from '~/ui/Button';
import { Dialog } from '~/ui/Dialog';
import { Field, Input } from '~/ui/Field';
import { useWords } from '~/words';

export function LogInDialog() {
  const { w } = useWords();
  const client = useQueryClient();
  const isMissing = useLogInMissing();
  const company = useQuery({
    queryKey: ['companyLogIn'],
    queryFn: companyLogIn,
    enabled: isMissing,
    staleTime: 60_000,
  });
  const [isByName, setByName] = useState(false);
  const [user, setUser] = useState('');
  const [secret, setSecret] = useState('');
  const [refused, setRefused] = useState<ApiError | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (secret.trim() === '' || (isByName && user.trim() === '')) return;
    const answer = await logIn(isByName ? { user: user.trim(), password: secret } : { token: secret.trim() });
    setRefused(answer);
    if (answer) return;
    setSecret('');
    void client.invalidateQueries();
  };
  return (
    <Dialog
      open={isMissing}
      onOpenChange={() => {}}
      title={w.shell.tokenTitle}
      description={isByName ? w.shell.logInText : w.shell.tokenText}
      size="sm"
      isLasting
      footer={
        <>
          <Button
            tone="ghost"
            onClick={() => {
              setByName(!isByName);
              setSecret('');
              setRefused(null);
            }}
          >
            {isByName ? w.shell.logInByToken : w.shell.logInByName}
          </Button>
          <Button tone={company.data ? 'plain' : 'primary'} type="submit" form="log-in">
            {w.shell.tokenSave}
          </Button>
        </>
      }
    >
      {company.data ? (
        <a href={company.data} className={buttonClass('primary', 'lg', 'mb-4 w-full')}>
          {w.shell.logInByCompany}
        </a>
      ) : null}
      <form id="log-in" onSubmit={submit} className="flex flex-col gap-3">
        {isByName ? (
          <Field label={w.shell.logInUser}>
            {(props) => (
              <Input
                {...props}
                autoComplete="username"
                value={user}
                onChange={(event) => setUser(event.currentTarget.value)}
              />
            )}
          </Field>
        ) : null}
        <Field
          label={isByName ? w.shell.logInPassword : w.shell.tokenLabel}
          error={refused && [refused.text || w.common.unreachable, refused.hint].filter(Boolean).join(' · ')}
        >
          {(props) => (
            <Input
              {...props}
              type="password"
              autoComplete={isByName ? 'current-password' : 'off'}
              value={secret}
              onChange={(event) => setSecret(event.currentTarget.value)}
            />
          )}
        </Field>
      </form>
    </Dialog>
  );
}
