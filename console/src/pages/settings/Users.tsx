import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ROLES, sessionQuery, usersQuery } from '~/api/access';
import { client, q } from '~/api/client';
import { Loaded } from '~/api/Loaded';
import { keys } from '~/api/queries';
import type { User } from '~/api/types';
import { useAct } from '~/api/useAct';
import { useDenied } from '~/api/useWhyNot';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Confirm } from '~/ui/Confirm';
import { Empty } from '~/ui/Empty';
import { PlusIcon } from '~/ui/icons';
import { Select } from '~/ui/Select';
import { SkeletonRows } from '~/ui/Skeleton';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';
import { PasswordDialog } from './PasswordDialog';
import { UserDialog } from './UserDialog';

type Asked = { verb: 'add' } | { verb: 'password' | 'remove'; user: string };

/** People who may log in. Administrators change them, and everyone their own password. */
export function Users() {
  const { w, date } = useWords();
  const users = useQuery(usersQuery());
  const session = useQuery(sessionQuery());
  const [asked, setAsked] = useState<Asked | null>(null);
  const denied = useDenied('administer');
  const close = () => setAsked(null);
  const give = useAct({
    call: ({ name, role }: { name: string; role: string }) =>
      q(client.PATCH('/api/v1/users/{name}', { params: { path: { name } }, body: { role } })),
    changes: [keys.users],
    done: (_, { name }) => w.settings.roleGiven(name),
  });
  const remove = useAct({
    call: (name: string) => q(client.DELETE('/api/v1/users/{name}', { params: { path: { name } } })),
    changes: [keys.users, keys.tokens],
    done: (_, name) => w.settings.userRemoved(name),
    onDone: close,
  });
  const columns: Column<User>[] = [
    {
      key: 'name',
      head: w.settings.userName,
      cell: ({ name }) => (
        <span className="block max-w-60 truncate font-medium" title={name}>
          {name}
        </span>
      ),
    },
    {
      key: 'role',
      head: w.settings.role,
      cell: ({ name, role }) => (
        <Select
          aria-label={w.settings.roleOf(name)}
          value={role}
          disabledReason={denied}
          onChange={(next) => give.mutate({ name, role: next })}
          options={ROLES.map((value) => ({
            value: value as string,
            label: w.settings.roles[value],
            note: w.settings.roleMay[value],
          }))}
        />
      ),
    },
    {
      key: 'created',
      head: w.common.createdAt,
      cell: ({ createdAt }) => date(createdAt),
      className: 'hidden whitespace-nowrap text-muted sm:table-cell',
    },
    {
      key: 'act',
      head: '',
      align: 'right',
      cell: ({ name }) => (
        <span className="flex justify-end gap-1">
          <Button
            size="sm"
            tone="ghost"
            disabledReason={name === session.data?.user ? null : denied}
            onClick={() => setAsked({ verb: 'password', user: name })}
          >
            {w.settings.setPassword}
          </Button>
          <Button
            size="sm"
            tone="danger"
            disabledReason={denied}
            onClick={() => setAsked({ verb: 'remove', user: name })}
          >
            {w.settings.remove}
          </Button>
        </span>
      ),
    },
  ];
  return (
    <Card
      title={w.settings.tabs.users}
      note={w.settings.usersNote}
      className="mt-4"
      actions={
        <Button size="sm" icon={<PlusIcon />} disabledReason={denied} onClick={() => setAsked({ verb: 'add' })}>
          {w.settings.addUser}
        </Button>
      }
    >
      <Loaded
        query={users}
        loading={<SkeletonRows count={3} />}
        isEmpty={({ items }) => items.length === 0}
        empty={
          <Empty
            title={w.settings.noUsers}
            hint={session.data?.isOpen ? w.settings.noUsersOpen : w.settings.noUsersHint}
            command="fermi user add ann --role member"
          />
        }
      >
        {({ items }) => (
          <Table label={w.settings.tabs.users} columns={columns} rows={items} rowKey={({ name }) => name} />
        )}
      </Loaded>
      {asked?.verb === 'add' ? <UserDialog onClose={close} /> : null}
      {asked?.verb === 'password' ? (
        <PasswordDialog user={asked.user} isOwn={asked.user === session.data?.user} onClose={close} />
      ) : null}
      <Confirm
        open={asked?.verb === 'remove'}
        onClose={close}
        onConfirm={() => asked?.verb === 'remove' && remove.mutate(asked.user)}
        title={asked?.verb === 'remove' ? w.settings.removeTitle(asked.user) : ''}
        text={w.settings.removeText}
        confirm={w.settings.remove}
        cancel={w.common.cancel}
        isBusy={remove.isPending}
      />
    </Card>
  );
}
