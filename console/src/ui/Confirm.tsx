import type { ReactNode } from 'react';
import { Button } from './Button';
import { Dialog } from './Dialog';
import { prose } from './prose';

type ConfirmProps = {
  open: boolean;
  onClose: () => void;
  onConfirm: () => void;
  title: string;
  text: ReactNode;
  confirm: string;
  cancel: string;
  isBusy?: boolean;
};

/** Asks once more before something that cannot be taken back. */
export function Confirm({ open, onClose, onConfirm, title, text, confirm, cancel, isBusy }: ConfirmProps) {
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose();
      }}
      size="sm"
      title={title}
      footer={
        <>
          <Button onClick={onClose}>{cancel}</Button>
          <Button tone="danger" isBusy={isBusy ?? false} onClick={onConfirm}>
            {confirm}
          </Button>
        </>
      }
    >
      <p className="text-sm text-muted [overflow-wrap:anywhere]">{prose(text)}</p>
    </Dialog>
  );
}
