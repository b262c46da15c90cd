import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef } from 'react';
import { classes } from './classes';

type VirtualRowsProps = {
  label: string;
  count: number;
  rowHeight: number;
  /** A row: give it `role="row"` and cells. */
  row: (index: number) => ReactNode;
  head?: ReactNode;
  /** Called with the first and the last row that are in sight, or nearly. */
  onSight?: ((first: number, last: number) => void) | undefined;
  className?: string;
};

/** Any number of rows of one height: only those in sight exist. */
export function VirtualRows({ label, count, rowHeight, row, head, onSight, className }: VirtualRowsProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  const items = rows.getVirtualItems();
  const first = items[0]?.index ?? -1;
  const last = items[items.length - 1]?.index ?? -1;
  useEffect(() => {
    if (count > 0 && first >= 0) onSight?.(first, last);
  }, [first, last, count, onSight]);
  return (
    <div
      ref={scroller}
      role="table"
      aria-label={label}
      aria-rowcount={count}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by the keyboard
      tabIndex={0}
      className={classes('relative overflow-auto outline-offset-[-2px]', className)}
    >
      {head ? <div className="sticky top-0 z-10 bg-surface">{head}</div> : null}
      <div className="relative" style={{ height: rows.getTotalSize() }}>
        {items.map((item) => (
          <div
            key={item.key}
            className="absolute inset-x-0 top-0"
            style={{ height: rowHeight, transform: `translateY(${item.start}px)` }}
          >
            {row(item.index)}
          </div>
        ))}
      </div>
    </div>
  );
}
