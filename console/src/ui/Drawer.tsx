import { Dialog as Base } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';
import { IconButton } from './Button';
import { CloseIcon } from './icons';
import { useLabels } from './Labels';

type DrawerProps = {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  children: ReactNode;
  footer?: ReactNode;
};

/** Details beside the list that they belong to. */
export function Drawer({ open, onOpenChange, title, children, footer }: DrawerProps) {
  const labels = useLabels();
  return (
    <Base.Root open={open} onOpenChange={onOpenChange}>
      <Base.Portal>
        <Base.Backdrop className="fade fixed inset-0 z-40 bg-overlay" />
        <Base.Popup className="slide fixed inset-y-0 right-0 z-50 flex w-full max-w-130 flex-col border-l border-line bg-raised shadow-pop">
          <header className="flex items-center gap-3 border-b border-line px-5 py-3">
            <Base.Title title={title} className="min-w-0 flex-1 truncate text-lg font-semibold">
              {title}
            </Base.Title>
            <Base.Close render={<IconButton label={labels.close} className="-mr-2" />}>
              <CloseIcon />
            </Base.Close>
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto px-5 py-4">{children}</div>
          {footer ? <footer className="flex justify-end gap-2 border-t border-line px-5 py-3">{footer}</footer> : null}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
