import { Menu as Base } from '@base-ui/react/menu';
import type { ReactElement, ReactNode } from 'react';
import { classes } from './classes';
import { CheckIcon } from './icons';

export const POPUP = 'pop z-50 rounded-lg border border-line bg-raised p-1 shadow-pop outline-none';
export const POPUP_ITEM =
  'flex w-full cursor-default items-center gap-2 rounded-md px-2 py-1.5 text-sm outline-none select-none data-highlighted:bg-hover data-disabled:opacity-50';

/** A menu that opens from `trigger`, which must be an element that takes a ref, such as `Button`. */
export function Menu({
  trigger,
  children,
  isOpenAtFirst = false,
}: {
  trigger: ReactElement;
  children: ReactNode;
  isOpenAtFirst?: boolean;
}) {
  return (
    <Base.Root defaultOpen={isOpenAtFirst}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} align="end" className="z-50 outline-none">
          <Base.Popup className={classes(POPUP, 'min-w-44')}>{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

type MenuItemProps = {
  onSelect: () => void;
  icon?: ReactNode;
  tone?: 'plain' | 'danger';
  /** Why it cannot be chosen. */
  disabledReason?: string | null | undefined;
  isChecked?: boolean | undefined;
  children: ReactNode;
};

export function MenuItem({ onSelect, icon, tone = 'plain', disabledReason, isChecked, children }: MenuItemProps) {
  return (
    <Base.Item
      disabled={Boolean(disabledReason)}
      title={disabledReason ?? undefined}
      onClick={onSelect}
      className={classes(POPUP_ITEM, tone === 'danger' && 'text-bad')}
    >
      {icon}
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {isChecked ? <CheckIcon className="text-accent" /> : null}
    </Base.Item>
  );
}

/** What is said in a menu and cannot be chosen. */
export function MenuNote({ children }: { children: ReactNode }) {
  return <div className="px-2 py-1.5 text-xs text-muted">{children}</div>;
}

export function MenuSeparator() {
  return <Base.Separator className="my-1 h-px bg-line" />;
}
