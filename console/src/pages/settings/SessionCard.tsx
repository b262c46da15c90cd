import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ROLES, sessionQuery } from '~/api/access';
import { Loaded } from '~/api/Loaded';
import { logOut } from '~/api/session';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Badge } from '~/ui/Pill';
import { SkeletonRows } from '~/ui/Skeleton';
import { toast } from '~/ui/Toast';
import { useWords } from '~/words';
import { PasswordDialog } from './PasswordDialog';
import { useRoleName } from './roles';

/** Who is logged in, what that one may do, and the way out. */
export function SessionCard() {
  const { w, date } = useWords();
  const client = useQueryClient();
  const session = useQuery(sessionQuery());
  const roleName = useRoleName();
  const [isChanging, setChanging] = useState(false);
  const leave = async () => {
    if (await logOut()) toast('info', w.settings.loggedOut);
    void client.invalidateQueries();
  };
  return (
    <Card title={w.settings.access} bodyClass="p-4">
      <Loaded query={session} loading={<SkeletonRows count={2} />}>
        {({ user, role, isOpen, expiresAt }) => (
          <div className="flex flex-col items-start gap-3">
            <p className="flex flex-wrap items-center gap-2 text-sm">
              <span className="font-medium">{nameOf(user, w.settings.names)}</span>
              <Badge>{roleName(role)}</Badge>
              <span className="text-muted">
                {isOpen
                  ? w.settings.isOpen
                  : ROLES.some((known) => known === role)
                    ? w.settings.roleMay[role as (typeof ROLES)[number]]
                    : null}
              </span>
            </p>
            {expiresAt ? <p className="text-xs text-muted">{w.settings.sessionUntil(date(expiresAt))}</p> : null}
            <div className="flex flex-wrap gap-2">
              <Button disabledReason={isOpen ? w.settings.isOpen : null} onClick={() => void leave()}>
                {w.settings.logOut}
              </Button>
              {isOpen || user in w.settings.names ? null : (
                <Button onClick={() => setChanging(true)}>{w.settings.changePassword}</Button>
              )}
            </div>
            {isChanging ? <PasswordDialog user={user} isOwn onClose={() => setChanging(false)} /> : null}
          </div>
        )}
      </Loaded>
    </Card>
  );
}

/** `token` and `local` are nobody's names. */
export function nameOf(user: string, names: Record<string, string>): string {
  return names[user] ?? user;
}
