import { memo } from 'react';
import { classes } from '~/ui/classes';
import { useWords } from '~/words';
import { spans } from './ansi';
import { Gutter } from './Gutter';
import type { LogLine } from './line';
import { parts } from './marks';

/** A line longer than this is shown in part: a browser lays out long ones slowly. */
const LONGEST = 4_000;

type LineProps = {
  line: LogLine;
  node: string;
  href: string;
  isShown: boolean;
  isWrapped: boolean;
  query: string;
  onChoose: (line: LogLine) => void;
};

export const Line = memo(function Line({ line, node, href, isShown, isWrapped, query, onChoose }: LineProps) {
  const { w, number } = useWords();
  const isLong = line.text.length > LONGEST;
  const text = isLong ? line.text.slice(0, LONGEST) : line.text;
  return (
    <div
      className={classes(
        'group flex font-mono text-xs leading-5',
        isWrapped ? 'w-full' : 'w-max min-w-full',
        isShown ? 'bg-accent-soft' : 'hover:bg-hover',
      )}
    >
      <Gutter line={line} node={node} href={href} isShown={isShown} onChoose={() => onChoose(line)} />
      <span
        className={classes(
          'min-h-5 min-w-0 flex-1 pr-4',
          isWrapped ? 'break-all whitespace-pre-wrap' : 'whitespace-pre',
          line.isGap && 'text-warn italic',
        )}
      >
        {spans(text).map((span, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: spans have no name of their own
          <span key={at} className={span.look || undefined}>
            {parts(span.text, query).map((part, index) =>
              part.isMatch ? (
                // biome-ignore lint/suspicious/noArrayIndexKey: parts have no name of their own
                <mark key={index} className="rounded-xs bg-warn-fill/40 text-text">
                  {part.text}
                </mark>
              ) : (
                part.text
              ),
            )}
          </span>
        ))}
        {line.folded > 0 ? (
          <span
            className="ml-2 rounded bg-track px-1 text-2xs text-muted select-none"
            title={w.logs.folded(number(line.folded))}
          >
            ↻{number(line.folded)}
          </span>
        ) : null}
        {isLong ? (
          <span className="ml-2 text-faint select-none" title={w.logs.cutLine}>
            … +{number(line.text.length - LONGEST)}
          </span>
        ) : null}
      </span>
    </div>
  );
});
