import type { ReactNode } from 'react';
import { Button } from './Button';

type MoreProps = { isBusy: boolean; onMore: () => void; children: ReactNode };

/** At the end of a list that goes on. */
export function More({ isBusy, onMore, children }: MoreProps) {
  return (
    <div className="flex justify-center border-t border-line py-2">
      <Button size="sm" isBusy={isBusy} onClick={onMore}>
        {children}
      </Button>
    </div>
  );
}
