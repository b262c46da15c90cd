import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { classes } from './classes';

type VirtualCardsProps = {
  label: string;
  count: number;
  /** Cards are at least so wide; as many stand side by side as there is room for. */
  cardWidth: number;
  cardHeight: number;
  gap?: number;
  /** A card; it fills its place. */
  card: (index: number) => ReactNode;
  className?: string;
};

/** Any number of cards of one height: only those in sight exist. It scrolls where `className` bounds its height. */
export function VirtualCards({ label, count, cardWidth, cardHeight, gap = 12, card, className }: VirtualCardsProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [columns, setColumns] = useState(1);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = () => setColumns(Math.max(1, Math.floor((element.clientWidth + gap) / (cardWidth + gap))));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [cardWidth, gap]);
  const rows = useVirtualizer({
    count: Math.ceil(count / columns),
    getScrollElement: () => scroller.current,
    estimateSize: () => cardHeight + gap,
    overscan: 4,
  });
  return (
    <div
      ref={scroller}
      role="list"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by the keyboard
      tabIndex={0}
      className={classes('overflow-y-auto outline-offset-[-2px]', className)}
    >
      <div className="relative" style={{ height: Math.max(0, rows.getTotalSize() - gap) }}>
        {rows.getVirtualItems().map((row) => (
          <div
            key={row.key}
            role="presentation"
            className="absolute inset-x-0 top-0 grid"
            style={{
              height: cardHeight,
              gap,
              gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
              transform: `translateY(${row.start}px)`,
            }}
          >
            {Array.from({ length: columns }, (_, column) => row.index * columns + column)
              .filter((index) => index < count)
              .map((index) => (
                <div key={index} role="listitem" aria-setsize={count} aria-posinset={index + 1} className="min-w-0">
                  {card(index)}
                </div>
              ))}
          </div>
        ))}
      </div>
    </div>
  );
}
