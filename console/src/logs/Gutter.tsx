import { classes } from '~/ui/classes';
import { seriesClass } from '~/ui/series';
import { useWords } from '~/words';
import type { LogLine } from './line';

type GutterProps = { line: LogLine; node: string; href: string; isShown: boolean; onChoose: () => void };

/** Who wrote a line: a colour, `node:rank`, and the line's own address. */
export function Gutter({ line, node, href, isShown, onChoose }: GutterProps) {
  const { w } = useWords();
  const name = `${node}:${line.rank}`;
  return (
    <a
      href={href}
      title={`${name} · ${line.stream} · ${line.offset}\n${w.logs.copyLink}`}
      aria-label={`${name} ${w.logs.copyLink}`}
      tabIndex={-1}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey) return;
        event.preventDefault();
        onChoose();
      }}
      className={classes(
        'sticky left-0 z-1 flex w-14 shrink-0 items-start gap-2 pr-2 text-2xs leading-5 select-none sm:w-40',
        isShown ? 'bg-accent-soft text-accent' : 'bg-surface text-faint group-hover:bg-hover hover:text-accent',
      )}
    >
      <span aria-hidden="true" className={classes('h-full min-h-5 w-0.75 shrink-0', seriesClass(line.rank))} />
      <span className="hidden min-w-0 truncate sm:block">{node}</span>
      <span className="shrink-0 sm:-ml-2">
        <span className="hidden sm:inline">:</span>
        {line.rank}
      </span>
      <span
        aria-hidden="true"
        className={classes('ml-auto shrink-0', line.stream === 'stderr' ? 'text-warn' : 'text-transparent')}
      >
        !
      </span>
    </a>
  );
}
