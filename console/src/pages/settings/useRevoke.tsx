import { type ReactNode, useState } from 'react';
import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import type { Token } from '~/api/types';
import { useAct } from '~/api/useAct';
import { Confirm } from '~/ui/Confirm';
import { useWords } from '~/words';

/** Revokes a token or ends a session, once that is confirmed in the dialog. */
export function useRevoke(): { ask: (token: Token) => void; dialog: ReactNode } {
  const { w } = useWords();
  const [ending, setEnding] = useState<Token | null>(null);
  const revoke = useAct({
    call: ({ id }: Token) => q(client.DELETE('/api/v1/tokens/{id}', { params: { path: { id } } })),
    changes: [keys.tokens],
    done: (_, { name, id, isSession }) => w.settings.tokenRevoked(isSession ? w.settings.browser : name || id),
    onDone: () => setEnding(null),
  });
  const dialog = (
    <Confirm
      open={ending !== null}
      onClose={() => setEnding(null)}
      onConfirm={() => ending && revoke.mutate(ending)}
      title={ending?.isSession ? w.settings.endSessionTitle : w.settings.revokeTitle(ending?.name || ending?.id || '')}
      text={ending?.isSession ? w.settings.endSessionText : w.settings.revokeText}
      confirm={ending?.isSession ? w.settings.endSession : w.settings.revoke}
      cancel={w.common.cancel}
      isBusy={revoke.isPending}
    />
  );
  return { ask: setEnding, dialog };
}
