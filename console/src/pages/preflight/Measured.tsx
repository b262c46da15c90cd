import { useQuery } from '@tanstack/react-query';
import { Loaded } from '~/api/Loaded';
import { isGoingOn, preflightQuery } from '~/api/preflights';
import type { Preflight } from '~/api/types';
import { PairMap } from '~/charts/PairMap';
import { Card } from '~/ui/Card';
import { Pill, type Tone } from '~/ui/Pill';
import { Progress } from '~/ui/Progress';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { Differences } from './Differences';
import { MeasuredFindings } from './MeasuredFindings';

/** Up to a quarter of a millisecond is one switch away, whatever others have. */
const NEAR_US = 250;

/** A preflight while it goes on, and what it has found. */
export function Measured({ id }: { id: string }) {
  const { w } = useWords();
  const preflight = useQuery(preflightQuery(id));
  return (
    <Loaded
      query={preflight}
      loading={
        <Card title={w.preflight.measured}>
          <SkeletonRows count={3} />
        </Card>
      }
    >
      {(data) => (isGoingOn(data) ? <GoingOn preflight={data} /> : <Result preflight={data} />)}
    </Loaded>
  );
}

const TONES: Record<string, Tone> = {
  takesPart: 'info',
  done: 'good',
  failed: 'bad',
  left: 'bad',
  silent: 'bad',
  absent: 'bad',
};

function GoingOn({ preflight }: { preflight: Preflight }) {
  const { w, say } = useWords();
  const { progress } = preflight;
  return (
    <Card title={w.preflight.measured} bodyClass="flex flex-col gap-3 p-4">
      <p role="status" className="text-sm">
        {say(progress.text)}
        {progress.waitsFor.length > 0 ? (
          <span className="text-muted"> · {w.preflight.waitsFor(progress.waitsFor.join(', '))}</span>
        ) : null}
      </p>
      <Progress share={progress.share} label={w.preflight.measured} />
      <ul className="flex flex-wrap gap-2">
        {preflight.nodes.map((node) => (
          <li key={node.environment}>
            <Pill tone={TONES[node.state] ?? 'idle'} isMoving={node.state === 'takesPart'}>
              {node.name}
            </Pill>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Result({ preflight }: { preflight: Preflight }) {
  const { w, value } = useWords();
  const names = preflight.nodes.map((node) => node.name);
  const pairWords = { cut: w.preflight.unreached, untried: w.preflight.unmeasured };
  const hasPairs = names.length > 1 && preflight.roundTripsUs.length > 0;
  return (
    <>
      <MeasuredFindings preflight={preflight} />
      {preflight.differences.length > 0 ? <Differences names={names} differences={preflight.differences} /> : null}
      {hasPairs ? (
        <Card title={w.preflight.matrix} note={w.preflight.matrixNote} bodyClass="flex flex-wrap gap-8 p-4">
          <PairMap
            label={w.preflight.roundTrips}
            names={names}
            cells={preflight.roundTripsUs as (number | null)[][]}
            untried={preflight.untried ?? []}
            words={pairWords}
            least={NEAR_US}
            format={(us) => value(Number((us / 1_000).toPrecision(3)))}
          />
          <PairMap
            label={w.preflight.bandwidth}
            names={names}
            cells={preflight.bytesPerSecond as (number | null)[][]}
            untried="all"
            words={pairWords}
            isMoreBetter
            format={(bytes) => value(Number(((bytes * 8) / 1e9).toPrecision(3)))}
          />
        </Card>
      ) : null}
    </>
  );
}
