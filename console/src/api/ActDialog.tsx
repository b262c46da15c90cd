import type { QueryKey } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { FormDialog } from '~/ui/FormDialog';
import { useWords } from '~/words';
import { refusalOf } from './error';
import { useAct } from './useAct';

type ActDialogProps<R> = {
  title: string;
  description?: ReactNode;
  submit: string;
  call: () => Promise<R>;
  changes: readonly QueryKey[];
  /** What is said when it is done. */
  done?: () => string;
  /** It closes when it is done, unless something else comes then. */
  onDone?: (result: R) => void;
  onClose: () => void;
  /** Gets what is refused of a field, and the id of the refusal. */
  children: (refusedAt: (field: string) => string | null, id: string | null) => ReactNode;
};

/** A form that asks one thing of the server: refusals stand at their fields, else above all of them. */
export function ActDialog<R>({
  title,
  description,
  submit,
  call,
  changes,
  done,
  onDone,
  onClose,
  children,
}: ActDialogProps<R>) {
  const { w } = useWords();
  const act = useAct<undefined, R>({
    call,
    changes,
    ...(done ? { done } : {}),
    onDone: onDone ?? onClose,
    isQuiet: true,
  });
  const refusal = refusalOf(act.error, w.common);
  // What is refused of a field that is not among these is said above them.
  let hasPlace = false;
  const fields = children((field) => {
    const said = refusal.at(field);
    hasPlace ||= said !== null;
    return said;
  }, refusal.id);
  return (
    <FormDialog
      title={title}
      description={description}
      submit={submit}
      cancel={w.common.cancel}
      isBusy={act.isPending}
      error={hasPlace ? null : refusal.text}
      onSubmit={() => act.mutate(undefined)}
      onClose={onClose}
    >
      {fields}
    </FormDialog>
  );
}
