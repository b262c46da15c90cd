import { type ReactNode, useEffect, useId, useRef } from 'react';
import { Banner } from './Banner';
import { Button } from './Button';
import { Dialog } from './Dialog';

type FormDialogProps = {
  title: string;
  description?: ReactNode;
  submit: string;
  cancel: string;
  isBusy: boolean;
  /** A refusal that belongs to no field. */
  error: string | null;
  onSubmit: () => void;
  onClose: () => void;
  children: ReactNode;
};

/** A form in a dialog: it says what was refused, and cannot be sent twice. */
export function FormDialog(props: FormDialogProps) {
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  // Where a field was refused one goes on, and what is said of it is in sight.
  useEffect(() => {
    if (props.isBusy) return;
    const refused = form.current?.querySelector<HTMLElement>('[aria-invalid=true]');
    refused?.focus({ preventScroll: true });
    refused?.parentElement?.scrollIntoView({ block: 'nearest' });
  }, [props.isBusy]);
  return (
    <Dialog
      open
      onOpenChange={props.onClose}
      title={props.title}
      description={props.description}
      footer={
        <>
          <Button onClick={props.onClose}>{props.cancel}</Button>
          <Button tone="primary" type="submit" form={id} isBusy={props.isBusy}>
            {props.submit}
          </Button>
        </>
      }
    >
      <form
        ref={form}
        id={id}
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (!props.isBusy) props.onSubmit();
        }}
      >
        {props.error ? <Banner tone="bad">{props.error}</Banner> : null}
        {props.children}
      </form>
    </Dialog>
  );
}
