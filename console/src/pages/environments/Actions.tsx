import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import type { Environment } from '~/api/types';
import { useAct } from '~/api/useAct';
import { useDenied } from '~/api/useWhyNot';
import { buttonClass, IconButton } from '~/ui/Button';
import { Confirm } from '~/ui/Confirm';
import { MoreIcon } from '~/ui/icons';
import { Menu, MenuItem, MenuSeparator } from '~/ui/Menu';
import { useWords } from '~/words';

export type Verb = 'drain' | 'resume' | 'lost' | 'replace' | 'delete';

function call(verb: Verb, id: string): Promise<unknown> {
  const params = { params: { path: { id } } };
  switch (verb) {
    case 'drain':
      return q(client.POST('/api/v1/environments/{id}/drain', params));
    case 'resume':
      return q(client.POST('/api/v1/environments/{id}/resume', params));
    case 'lost':
      return q(client.POST('/api/v1/environments/{id}/lost', params));
    case 'replace':
      return q(client.POST('/api/v1/environments/{id}/replace', params));
    case 'delete':
      return q(client.DELETE('/api/v1/environments/{id}', params));
  }
}

type ActionsProps = { environment: Environment; className?: string };

/** What may be said of an environment. Of a thousand menus only the one that is opened exists. */
export function Actions(props: ActionsProps) {
  const { w } = useWords();
  const [wasOpened, setOpened] = useState(false);
  if (wasOpened) return <OpenedActions {...props} />;
  return (
    <IconButton
      label={w.environments.actionsOf(props.environment.name)}
      aria-haspopup="menu"
      className={props.className}
      onClick={() => setOpened(true)}
    >
      <MoreIcon />
    </IconButton>
  );
}

/** Environments are operators'; what one of them does not allow as it stands is refused, with the reason. */
function OpenedActions({ environment, className }: ActionsProps) {
  const { w } = useWords();
  const { id, name, status } = environment;
  const [asked, setAsked] = useState<Exclude<Verb, 'resume'> | null>(null);
  const act = useAct({
    call: (verb: Verb) => call(verb, id),
    changes: [keys.environments, keys.overview],
    done: (_, verb) => w.environments.done[verb](name),
    onDone: () => setAsked(null),
  });
  const texts = {
    drain: w.environments.drainText,
    lost: w.environments.lostText,
    replace: w.environments.replaceText,
    delete: w.environments.deleteText,
  };
  const denied = useDenied('operate');
  const isOut = status === 'drained' || status === 'lost';
  return (
    <>
      <Menu
        isOpenAtFirst
        trigger={
          <IconButton label={w.environments.actionsOf(name)} className={className}>
            <MoreIcon />
          </IconButton>
        }
      >
        {isOut ? (
          <MenuItem disabledReason={denied} onSelect={() => act.mutate('resume')}>
            {w.environments.resume}
          </MenuItem>
        ) : (
          <MenuItem disabledReason={denied} onSelect={() => setAsked('drain')}>
            {w.environments.drain}
          </MenuItem>
        )}
        <MenuSeparator />
        <MenuItem disabledReason={denied} onSelect={() => setAsked('lost')}>
          {w.environments.lost}
        </MenuItem>
        <MenuItem disabledReason={denied} onSelect={() => setAsked('replace')}>
          {w.environments.replace}
        </MenuItem>
        <MenuItem tone="danger" disabledReason={denied} onSelect={() => setAsked('delete')}>
          {w.environments.delete}
        </MenuItem>
      </Menu>
      {asked ? (
        <Confirm
          open
          onClose={() => setAsked(null)}
          title={w.environments[asked]}
          text={texts[asked](name)}
          confirm={w.environments[asked]}
          cancel={w.common.cancel}
          isBusy={act.isPending}
          onConfirm={() => act.mutate(asked)}
        />
      ) : null}
    </>
  );
}

/** To the create page, with this one ticked. */
export function TrainLink({ environment }: { environment: Environment }) {
  const { w } = useWords();
  return (
    <Link to="/training/create" search={{ env: environment.id }} className={buttonClass('primary')}>
      {w.environments.train}
    </Link>
  );
}
