import { type PointerEvent, useCallback, useMemo } from 'react';
import { classes } from '~/ui/classes';
import { useCanvas } from './canvas';
import { colour } from './colours';
import { byNode, place, rankAt } from './squares';

type SquareTone = 'waiting' | 'running' | 'succeeded' | 'failed' | 'victim' | 'stopped';
export type RankSquare = { rank: number; node: string; tone: SquareTone };

const FILLS: Record<SquareTone, string> = {
  waiting: 'fill-track stroke-line-strong',
  running: 'fill-good-fill stroke-good-fill',
  succeeded: 'fill-accent stroke-accent',
  failed: 'fill-bad-fill stroke-bad-fill',
  victim: 'fill-bad-soft stroke-bad-fill/60',
  stopped: 'fill-line-strong stroke-line-strong',
};
const TOKENS: Record<SquareTone, string> = {
  waiting: 'track',
  running: 'good-fill',
  succeeded: 'accent',
  failed: 'bad-fill',
  victim: 'bad-soft',
  stopped: 'line-strong',
};
/** So many squares are elements that one can reach by key; more are drawn. */
const ELEMENTS = 512;
const SIZE = 18;
const GAP = 4;
const PER_ROW = 16;

type RankGridProps = {
  label: string;
  squares: readonly RankSquare[];
  /** What is said of a rank to those who point at its square. */
  labelOf: (rank: number) => string;
  onPick: (rank: number) => void;
  onHover?: (rank: number | null) => void;
};

/** One square per rank, by node. */
export function RankGrid(props: RankGridProps) {
  return props.squares.length > ELEMENTS ? <DrawnGrid {...props} /> : <ElementGrid {...props} />;
}

function ElementGrid({ label, squares, labelOf, onPick, onHover }: RankGridProps) {
  const nodes = useMemo(() => byNode(squares), [squares]);
  return (
    <section aria-label={label} className="flex flex-wrap gap-x-6 gap-y-3">
      {nodes.map((node) => {
        const columns = Math.min(PER_ROW, node.squares.length);
        const lines = Math.ceil(node.squares.length / PER_ROW);
        return (
          <div key={node.name} className="min-w-0">
            <p className="mb-1 max-w-48 truncate text-xs text-muted" title={node.name}>
              {node.name}
            </p>
            <svg
              aria-label={node.name}
              role="group"
              width={columns * (SIZE + GAP)}
              height={lines * (SIZE + GAP)}
              className="block overflow-visible"
            >
              {node.squares.map(({ rank, tone }, at) => (
                <a
                  key={rank}
                  href={`#rank-${rank}`}
                  aria-label={labelOf(rank)}
                  onClick={(event) => {
                    event.preventDefault();
                    onPick(rank);
                  }}
                  onPointerEnter={() => onHover?.(rank)}
                  onPointerLeave={() => onHover?.(null)}
                  onFocus={() => onHover?.(rank)}
                  onBlur={() => onHover?.(null)}
                >
                  <title>{labelOf(rank)}</title>
                  <rect
                    x={(at % PER_ROW) * (SIZE + GAP) + 0.5}
                    y={Math.floor(at / PER_ROW) * (SIZE + GAP) + 0.5}
                    width={SIZE - 1}
                    height={SIZE - 1}
                    rx="3"
                    className={classes('hover:opacity-75', FILLS[tone])}
                  />
                </a>
              ))}
            </svg>
          </div>
        );
      })}
    </section>
  );
}

const SMALL = 9;

function DrawnGrid({ label, squares, onPick, onHover }: RankGridProps) {
  const perRow = 96;
  const lines = Math.ceil(squares.length / perRow);
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: number) => {
      const step = Math.min(SMALL, width / perRow);
      // A colour after the other: to change it costs more than a square.
      for (const [tone, token] of Object.entries(TOKENS)) {
        context.fillStyle = colour(token);
        squares.forEach((square, at) => {
          if (square.tone !== tone) return;
          const { x, y } = place(at, perRow, step);
          context.fillRect(x, y, step - 1, step - 1);
        });
      }
    },
    [squares],
  );
  const { canvas, width } = useCanvas(lines * SMALL, draw);
  const find = (event: PointerEvent<HTMLCanvasElement> | React.MouseEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = rankAt(event.clientX - box.left, event.clientY - box.top, perRow, Math.min(SMALL, width / perRow));
    return squares[at]?.rank ?? null;
  };
  return (
    <div>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${label} ${squares.length}`}
        className="block w-full cursor-pointer"
        style={{ height: lines * SMALL }}
        onPointerMove={(event) => onHover?.(find(event))}
        onPointerLeave={() => onHover?.(null)}
        onClick={(event) => {
          const rank = find(event);
          if (rank !== null) onPick(rank);
        }}
      />
    </div>
  );
}
