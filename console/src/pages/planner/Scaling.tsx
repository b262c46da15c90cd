import type { PlanReport } from '~/api/types';
import { Card } from '~/ui/Card';
import { useWords } from '~/words';
import { type ScalePoint, scaling } from './plans';

const WIDTH = 340;
const HEIGHT = 150;

/** How throughput grows when environments join one after the other. */
export function Scaling({ points }: { points: PlanReport['scaling'] }) {
  const { w } = useWords();
  const known = scaling(points);
  return (
    <Card title={w.planner.scaling} bodyClass="p-4">
      {points.length < 2 ? (
        <p className="text-sm text-muted">{w.planner.scalingNone}</p>
      ) : (
        <>
          <p className="mb-3 text-xs text-muted">{w.planner.scalingNote}</p>
          <Curve points={known} />
        </>
      )}
    </Card>
  );
}

function Curve({ points }: { points: readonly ScalePoint[] }) {
  const { w, number, percent } = useWords();
  const first = points[0];
  const last = points[points.length - 1];
  if (!first || !last) return <p className="text-sm text-muted">–</p>;
  const each = first.tokensPerS / first.gpus;
  const ideal = each * last.gpus;
  // More memory for each sample can make more GPUs faster than in proportion.
  const highest = Math.max(ideal, ...points.map(({ tokensPerS }) => tokensPerS));
  const x = (gpus: number) => 8 + (gpus / last.gpus) * (WIDTH - 16);
  const y = (speed: number) => HEIGHT - 8 - (speed / highest) * (HEIGHT - 20);
  const line = points.map((point) => `${x(point.gpus)},${y(point.tokensPerS)}`).join(' ');
  return (
    <>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} className="w-full" role="img" aria-label={w.planner.scaling}>
        <line x1={x(0)} y1={y(0)} x2={x(last.gpus)} y2={y(0)} stroke="var(--line-strong)" />
        <line x1={x(0)} y1={y(0)} x2={x(last.gpus)} y2={y(ideal)} stroke="var(--line-strong)" strokeDasharray="4 4" />
        <text x={x(last.gpus) - 4} y={y(ideal) - 2} textAnchor="end" fontSize="11" fill="var(--faint)">
          {w.planner.ideal}
        </text>
        <polyline points={`${x(0)},${y(0)} ${line}`} fill="none" stroke="var(--accent)" strokeWidth="2" />
        {points.map((point) => (
          <circle key={point.gpus} cx={x(point.gpus)} cy={y(point.tokensPerS)} r="3.5" fill="var(--accent)" />
        ))}
      </svg>
      <table className="mt-3 w-full text-sm">
        <thead>
          <tr className="text-xs text-muted">
            <th scope="col" className="text-left font-medium">
              GPU
            </th>
            <th scope="col" className="text-right font-medium">
              {w.planner.throughput}
            </th>
            <th scope="col" className="text-right font-medium">
              {w.planner.efficiency}
            </th>
          </tr>
        </thead>
        <tbody>
          {points.map((point) => (
            <tr key={point.gpus} className="border-t border-line">
              <td className="py-1" title={point.name}>
                {number(point.gpus)}
              </td>
              <td className="py-1 text-right">{number(Math.round(point.tokensPerS))}</td>
              <td className="py-1 text-right">{percent(point.efficiency)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
