import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef } from 'react';
import { client, q, wishKey } from '~/api/client';
import { ApiError } from '~/api/error';
import { keys } from '~/api/queries';
import type { CreateRequest } from '~/api/types';
import { toast } from '~/ui/Toast';
import { useWords } from '~/words';
import { dropDraft } from './draft';
import type { Form } from './form';
import { anchor, type Part, partOf } from './refusal';

/** What was refused, and where. */
type Refused = { part: Part | null; text: string };
/** What each part of the page gets. */
export type PartProps = { form: Form; set: (patch: Partial<Form>) => void; refused: Refused | null };

export function refusedAt(refused: Refused | null, part: Part): string | null {
  return refused?.part === part ? refused.text : null;
}

/** Creates the task. The same request sent again, as after a lost answer, has the same key: it is granted once. */
export function useCreate(from: string | null) {
  const { w } = useWords();
  const cache = useQueryClient();
  const navigate = useNavigate();
  /** Takes back what the last refusal said. */
  const unsay = useRef<(() => void) | null>(null);
  const wish = useRef<{ body: string; key: string } | null>(null);
  const { mutate, reset, error, isPending } = useMutation({
    mutationFn: (body: CreateRequest) => {
      const text = JSON.stringify(body);
      if (wish.current?.body !== text) wish.current = { body: text, key: wishKey() };
      const header = { 'Idempotency-Key': wish.current.key };
      return q(client.POST('/api/v1/training-tasks', { body, params: { header } }));
    },
    onSuccess: async (answer) => {
      wish.current = null;
      dropDraft(localStorage, from);
      toast('good', w.create.created, answer.description);
      for (const queryKey of [keys.tasks, keys.overview, keys.environments]) void cache.invalidateQueries({ queryKey });
      await navigate({ to: '/training/$id', params: { id: answer.taskId } });
    },
    onError: (refusal) => {
      const known = refusal instanceof ApiError ? refusal : null;
      unsay.current = toast(
        'bad',
        refusal.message || w.common.unreachable,
        known?.isUnreachable ? w.common.unreachableHint : known?.hint,
      );
      const part = known ? partOf(known) : null;
      if (part) show(part);
    },
  });
  const known = error instanceof ApiError ? error : null;
  const refused: Refused | null = known && !known.isUnreachable ? { part: partOf(known), text: known.text } : null;
  return {
    submit: mutate,
    isPending,
    refused,
    /** The refusal was about what has changed since. */
    forget: () => {
      if (!error) return;
      unsay.current?.();
      reset();
    },
    clear: () => {
      reset();
      dropDraft(localStorage, from);
      void navigate({ to: '/training/create', search: from === null ? {} : { from }, replace: true });
    },
  };
}

function show(part: Part) {
  const element = document.getElementById(anchor(part));
  element?.scrollIntoView({ block: 'center', behavior: 'smooth' });
  const field = element?.matches('input, button') ? element : element?.querySelector('input, button, textarea');
  if (field instanceof HTMLElement) field.focus({ preventScroll: true });
}
