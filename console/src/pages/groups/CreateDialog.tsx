import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError } from '~/api/error';
import { type Group, groupCalls } from '~/api/groups';
import { keys } from '~/api/queries';
import { Button } from '~/ui/Button';
import { Dialog } from '~/ui/Dialog';
import { Field, Input } from '~/ui/Field';
import { toast } from '~/ui/Toast';
import { useWords } from '~/words';

type CreateDialogProps = {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  workers: string[];
  onCreated: (group: Group) => void;
};

export function CreateDialog({ open, onOpenChange, workers, onCreated }: CreateDialogProps) {
  const { w, number } = useWords();
  const client = useQueryClient();
  const [name, setName] = useState('');
  const create = useMutation({
    mutationFn: () => groupCalls.create({ name, workers }),
    onSuccess: async (group) => {
      await client.invalidateQueries({ queryKey: keys.groups });
      toast('good', w.groups.created, group.name);
      setName('');
      onOpenChange(false);
      onCreated(group);
    },
  });
  const error = create.error instanceof ApiError ? create.error : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      size="sm"
      title={w.groups.create}
      description={
        workers.length > 0 ? `${w.groups.selected(number(workers.length))} · ${w.groups.createHint}` : undefined
      }
      footer={
        <>
          <Button onClick={() => onOpenChange(false)}>{w.common.cancel}</Button>
          <Button tone="primary" type="submit" form="new-group" isBusy={create.isPending}>
            {w.common.create}
          </Button>
        </>
      }
    >
      <form id="new-group" onSubmit={submit}>
        <Field
          label={w.groups.name}
          isRequired
          error={error ? [error.text, error.hint].filter(Boolean).join(' · ') : null}
        >
          {(props) => (
            <Input
              {...props}
              value={name}
              placeholder={w.groups.nameExample}
              onChange={(event) => setName(event.currentTarget.value)}
            />
          )}
        </Field>
      </form>
    </Dialog>
  );
}
