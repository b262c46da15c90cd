import { Toast as Base } from '@base-ui/react/toast';
import type { ReactNode } from 'react';
import { IconButton } from './Button';
import { CheckIcon, CloseIcon, InfoIcon, WarnIcon } from './icons';
import { useLabels } from './Labels';
import { prose } from './prose';

const manager = Base.createToastManager();

type ToastTone = 'good' | 'bad' | 'info';

/** Says something for a moment, from anywhere. Returns how to take it back. */
export function toast(tone: ToastTone, title: string, description?: string | null): () => void {
  const id = manager.add({
    type: tone,
    title: prose(title),
    ...(description ? { description: prose(description) } : {}),
    timeout: tone === 'bad' ? 10_000 : 5_000,
    priority: tone === 'bad' ? 'high' : 'low',
  });
  return () => manager.close(id);
}

const ICONS: Record<ToastTone, ReactNode> = {
  good: <CheckIcon className="mt-0.5 text-good" />,
  bad: <WarnIcon className="mt-0.5 text-bad" />,
  info: <InfoIcon className="mt-0.5 text-info" />,
};

export function ToastProvider({ children }: { children: ReactNode }) {
  return (
    <Base.Provider toastManager={manager} limit={4}>
      {children}
      <Base.Portal>
        {/* In the middle: at the right stands what one presses next, such as the button of a form. */}
        <Base.Viewport className="fixed bottom-20 left-1/2 z-60 flex w-[calc(100vw-32px)] max-w-90 -translate-x-1/2 flex-col gap-2 sm:bottom-4">
          <Toasts />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  );
}

function Toasts() {
  const { toasts } = Base.useToastManager();
  const labels = useLabels();
  return toasts.map((item) => (
    <Base.Root
      key={item.id}
      toast={item}
      className="fade flex items-start gap-3 rounded-lg border border-line bg-raised py-3 pr-2 pl-4 shadow-pop"
    >
      {ICONS[(item.type as ToastTone | undefined) ?? 'info']}
      <div className="min-w-0 flex-1">
        <Base.Title className="text-sm font-medium [overflow-wrap:anywhere]" />
        <Base.Description className="mt-0.5 text-sm text-muted [overflow-wrap:anywhere]" />
      </div>
      <Base.Close render={<IconButton label={labels.dismiss} size="sm" />}>
        <CloseIcon />
      </Base.Close>
    </Base.Root>
  ));
}
