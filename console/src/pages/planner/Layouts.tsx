import type { PlannedLayout } from '~/api/types';
import { Pill, type Tone } from '~/ui/Pill';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';
import type { Words } from '~/words/zh';
import { MemoryBar } from './MemoryBar';

const TONES: Record<PlannedLayout['id'], Tone> = { fits: 'good', fitsTightly: 'warn', doesNotFit: 'bad' };
const wordOf = (id: PlannedLayout['id'], w: Words) =>
  ({ fits: w.planner.fits, fitsTightly: w.planner.tight, doesNotFit: w.planner.fitsNot })[id];

/** How the work is cut: what is 1 says nothing. */
function cut(layout: PlannedLayout, w: Words, number: (value: number) => string): string {
  const { dataParallel, tensorParallel, pipelineParallel, virtualStages, microBatch, accumulation, recompute } = layout;
  const stages = virtualStages > 1 ? `${number(pipelineParallel)}×${virtualStages}` : number(pipelineParallel);
  return [
    w.planner.data(number(dataParallel)),
    tensorParallel > 1 ? w.planner.tensor(number(tensorParallel)) : null,
    pipelineParallel > 1 ? w.planner.pipeline(stages) : null,
    w.planner.micro(number(microBatch), number(accumulation)),
    w.planner.recompute[recompute],
  ]
    .filter(Boolean)
    .join(' · ');
}

const keyOf = (layout: PlannedLayout) =>
  [
    layout.sharding,
    layout.dataParallel,
    layout.tensorParallel,
    layout.pipelineParallel,
    layout.microBatch,
    layout.recompute,
  ].join();

/** Layouts as the planner ranks them. */
export function Layouts({ rows, cardGib }: { rows: readonly PlannedLayout[]; cardGib: number }) {
  const { w, number, value, percent } = useWords();
  const pill = (layout: PlannedLayout) => <Pill tone={TONES[layout.id]}>{wordOf(layout.id, w)}</Pill>;
  const columns: Column<PlannedLayout>[] = [
    {
      key: 'layout',
      head: w.planner.layout,
      cell: (layout) => (
        <div className="min-w-0 py-2">
          <p className="font-medium whitespace-nowrap">{layout.name}</p>
          <p className="text-xs text-muted">{cut(layout, w, number)}</p>
          <div className="mt-1 lg:hidden">{pill(layout)}</div>
        </div>
      ),
    },
    { key: 'fits', head: '', className: 'hidden lg:table-cell', cell: pill },
    {
      key: 'memory',
      head: w.planner.memory,
      className: 'min-w-28 sm:min-w-40',
      cell: (layout) => <MemoryBar layout={layout} cardGib={cardGib} />,
    },
    {
      key: 'step',
      head: w.planner.step,
      align: 'right',
      className: 'hidden whitespace-nowrap sm:table-cell',
      cell: (layout) =>
        layout.missingGib > 0 ? (
          '–'
        ) : (
          <span title={w.planner.between(value(layout.stepTimeLowS), value(layout.stepTimeHighS))}>
            {w.planner.seconds(value(layout.stepTimeS))}
          </span>
        ),
    },
    {
      key: 'speed',
      head: w.planner.throughput,
      align: 'right',
      cell: (layout) => (layout.missingGib > 0 ? '–' : number(Math.round(layout.tokensPerS))),
    },
    {
      key: 'mfu',
      head: <span title={w.planner.mfuHint}>{w.planner.mfu}</span>,
      align: 'right',
      className: 'hidden sm:table-cell',
      cell: (layout) => (layout.missingGib > 0 ? '–' : percent(layout.mfu)),
    },
  ];
  return <Table label={w.planner.layouts} columns={columns} rows={rows} rowKey={keyOf} />;
}
