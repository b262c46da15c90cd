import { Dialog as Base } from '@base-ui/react/dialog';
import { type ReactNode, useRef } from 'react';
import { IconButton } from './Button';
import { classes } from './classes';
import { CloseIcon } from './icons';
import { useLabels } from './Labels';
import { prose } from './prose';

type DialogProps = {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: ReactNode;
  description?: ReactNode;
  children?: ReactNode;
  /** Buttons, the one that does it last. */
  footer?: ReactNode;
  size?: 'sm' | 'md' | 'lg' | 'xl';
  /** It stays until it has what it asks for. */
  isLasting?: boolean;
};

const SIZES = { sm: 'max-w-100', md: 'max-w-130', lg: 'max-w-180', xl: 'max-w-240' };

export function Dialog({
  open,
  onOpenChange,
  title,
  description,
  children,
  footer,
  size = 'md',
  isLasting,
}: DialogProps) {
  const labels = useLabels();
  const body = useRef<HTMLDivElement>(null);
  return (
    <Base.Root open={open} onOpenChange={onOpenChange}>
      <Base.Portal>
        <Base.Backdrop className="fade fixed inset-0 z-40 bg-overlay" />
        <Base.Popup
          // Who opens a form writes into it; what has no field begins with its buttons.
          initialFocus={() =>
            body.current?.querySelector<HTMLElement>('input:not([aria-hidden=true]), textarea') ?? true
          }
          className={classes(
            'pop fixed top-[12vh] left-1/2 z-50 flex max-h-[80vh] w-[calc(100vw-32px)] -translate-x-1/2 flex-col rounded-xl border border-line bg-raised shadow-pop',
            SIZES[size],
          )}
        >
          <header className="flex items-start gap-3 px-5 pt-4 pb-2">
            <div className="min-w-0 flex-1">
              <Base.Title className="text-lg font-semibold [overflow-wrap:anywhere]">{title}</Base.Title>
              {description ? (
                <Base.Description className="mt-1 text-sm text-muted [overflow-wrap:anywhere]">
                  {prose(description)}
                </Base.Description>
              ) : null}
            </div>
            {isLasting ? null : (
              <Base.Close render={<IconButton label={labels.close} className="-mr-2" />}>
                <CloseIcon />
              </Base.Close>
            )}
          </header>
          <div ref={body} className="min-h-0 flex-1 overflow-y-auto px-5 py-3">
            {children}
          </div>
          {footer ? <footer className="flex justify-end gap-2 border-t border-line px-5 py-3">{footer}</footer> : null}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
