import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ROLES, sessionQuery } from '~/api/access';
import { Loaded } from '~/api/Loaded';
import { useNames } from '~/api/names';
import { useLogOut } from '~/api/useLogOut';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Badge } from '~/ui/Pill';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { PasswordDialog } from './PasswordDialog';

/** Who is logged in, what that one may do, and the way out. */
export function SessionCard() {
  const { w, date } = useWords();
  const logOut = useLogOut();
  const session = useQuery(sessionQuery());
  const { userName, roleName } = useNames();
  const [isChanging, setChanging] = useState(false);
  return (
    <Card title={w.settings.access} bodyClass="p-4">
      <Loaded query={session} loading={<SkeletonRows count={2} />}>
        {({ user, role, isOpen, expiresAt }) => (
          <div className="flex flex-col items-start gap-3">
            <p className="flex flex-wrap items-center gap-2 text-sm">
              <span className="font-medium">{userName(user)}</span>
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
              <Button disabledReason={isOpen ? w.settings.isOpen : null} onClick={() => void logOut()}>
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
