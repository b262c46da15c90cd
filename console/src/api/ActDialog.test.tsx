// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, test, vi } from 'vitest';
import { TextField } from '~/ui/TextField';
import { ActDialog } from './ActDialog';
import { ApiError, unreachable } from './error';

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

/** What a dialog says after the server has refused: above all fields, and of its one field. */
async function saidOf(refusal: ApiError): Promise<{ above: string | null; atName: string | null }> {
  const root = createRoot(document.body.appendChild(document.createElement('div')));
  await act(async () =>
    root.render(
      <QueryClientProvider client={new QueryClient()}>
        <ActDialog title="new" submit="make" call={() => Promise.reject(refusal)} changes={[]} onClose={() => {}}>
          {(refusedAt) => <TextField label="name" error={refusedAt('name')} value="" onChange={() => {}} />}
        </ActDialog>
      </QueryClientProvider>,
    ),
  );
  await act(async () => {
    document.querySelector('form')?.requestSubmit();
    await vi.waitFor(() => expect(document.querySelector('form [role]')).not.toBeNull());
  });
  const text = (selector: string) => document.querySelector(`form ${selector}`)?.textContent ?? null;
  const said = { above: text('[role=status]'), atName: text('[role=alert]') };
  await act(async () => root.unmount());
  return said;
}

const refused = (field: string | null) => new ApiError(422, 'wrong', 'no', 'do so', field, null);

test('a refusal stands at its field, and above all of them where that is not shown', async () => {
  expect(await saidOf(refused('name'))).toEqual({ above: null, atName: 'no · do so' });
  expect(await saidOf(refused('version'))).toEqual({ above: 'no · do so', atName: null });
  expect(await saidOf(refused(null))).toEqual({ above: 'no · do so', atName: null });
  expect((await saidOf(unreachable())).above).toContain('无法连接服务器');
});
