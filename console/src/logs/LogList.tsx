import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Button } from '~/ui/Button';
import { ArrowDownIcon } from '~/ui/icons';
import { useWords } from '~/words';
import { Line } from './Line';
import type { LogLine } from './line';
import type { LogState, LogStore } from './store';

const ROW = 20;
/** So near to the end one still follows. */
const NEAR = 60;

type LogListProps = {
  store: LogStore;
  state: LogState;
  shown: string | null;
  query: string;
  isWrapped: boolean;
  nodeOf: (rank: number) => string;
  hrefOf: (key: string) => string;
  onChoose: (key: string) => void;
  onNewest: () => void;
};

/** The lines in sight; at the end it follows, at either edge it fetches what is beyond. */
export const LogList = memo(function LogList(props: LogListProps) {
  const { store, state, shown, query, isWrapped, nodeOf, hrefOf, onChoose, onNewest } = props;
  const { w } = useWords();
  const scroller = useRef<HTMLDivElement>(null);
  const gone = useRef<string | null>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const { lines, canGoBack, isDetached } = state;
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    getItemKey: useCallback((index: number) => lines[index]?.key ?? index, [lines]),
    anchorTo: 'end',
    followOnAppend: !isDetached,
    scrollEndThreshold: NEAR,
    overscan: 24,
  });
  const items = rows.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items[items.length - 1]?.index ?? 0;

  // It opens at the end; only then does the upper edge mean that older lines are wanted.
  const [stage, setStage] = useState<'laying' | 'laid' | 'placed'>('laying');
  const isPlaced = stage === 'placed';
  useLayoutEffect(() => {
    if (!isDetached) rows.scrollToEnd();
    const laid = setTimeout(() => setStage((before) => (before === 'placed' ? before : 'laid')), 30);
    const placed = setTimeout(() => setStage('placed'), 350);
    return () => {
      clearTimeout(laid);
      clearTimeout(placed);
    };
  }, [rows, isDetached]);
  useEffect(() => {
    if (isPlaced && lines.length > 0 && first < 40 && canGoBack) void store.back();
  }, [isPlaced, first, lines.length, canGoBack, store]);
  useEffect(() => {
    if (isPlaced && isDetached && lines.length > 0 && last >= lines.length - 5) void store.ahead();
  }, [isPlaced, last, lines.length, isDetached, store]);
  useEffect(() => {
    if (!shown || gone.current === shown || stage === 'laying') return;
    const at = lines.findIndex((line) => line.key === shown);
    if (at < 0) return;
    gone.current = shown;
    rows.scrollToIndex(at, { align: 'center' });
  }, [shown, lines, rows, stage]);

  const choose = useCallback(
    (line: LogLine) => {
      gone.current = line.key;
      onChoose(line.key);
    },
    [onChoose],
  );
  const toEnd = () => {
    if (isDetached) onNewest();
    else rows.scrollToEnd();
  };
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={scroller}
        role="log"
        aria-live="off"
        aria-label={w.logs.title}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by the keyboard
        tabIndex={0}
        onScroll={(event) => {
          const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
          setAtEnd(scrollHeight - scrollTop - clientHeight <= NEAR);
        }}
        className="absolute inset-0 overflow-auto overscroll-contain outline-offset-[-2px] [contain:strict]"
      >
        <div className="relative min-w-full" style={{ height: rows.getTotalSize() }}>
          {items.map((item) => {
            const line = lines[item.index];
            return line ? (
              <div
                key={item.key}
                data-index={item.index}
                ref={isWrapped ? rows.measureElement : undefined}
                className={isWrapped ? 'absolute inset-x-0 top-0' : 'absolute top-0 left-0 h-5 min-w-full'}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <Line
                  line={line}
                  node={nodeOf(line.rank)}
                  href={hrefOf(line.key)}
                  isShown={line.key === shown}
                  isWrapped={isWrapped}
                  query={query}
                  onChoose={choose}
                />
              </div>
            ) : null;
          })}
        </div>
      </div>
      {lines.length > 0 && (!isAtEnd || isDetached) ? (
        <Button
          size="sm"
          className="absolute right-5 bottom-3 rounded-full! bg-raised! shadow-pop"
          icon={<ArrowDownIcon width="14" height="14" />}
          onClick={toEnd}
        >
          {state.isOver || isDetached ? w.logs.toEnd : w.logs.follow}
        </Button>
      ) : null}
    </div>
  );
});
