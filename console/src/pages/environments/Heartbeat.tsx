import type { Environment } from '~/api/types';
import { classes } from '~/ui/classes';
import { useNow } from '~/ui/now';
import { useWords } from '~/words';

/** An age grows between two answers of the server. */
export function ageNow(ageMs: number, asOf: number, now: number): number {
  return ageMs + Math.max(0, now - asOf);
}

type HeartbeatProps = { environment: Pick<Environment, 'heartbeatAgeMs' | 'status'>; asOf: number };

/** Since when nothing was heard of an environment, each second anew. */
export function Heartbeat({ environment, asOf }: HeartbeatProps) {
  const { w, duration } = useWords();
  const now = useNow();
  if (environment.heartbeatAgeMs == null) return <span className="text-faint">{w.environments.never}</span>;
  const age = ageNow(environment.heartbeatAgeMs, asOf, now);
  const isLate = environment.status === 'suspect' || environment.status === 'offline' || environment.status === 'lost';
  return (
    <span className={classes('whitespace-nowrap', isLate && 'text-warn')}>
      {age < 2_000 ? w.environments.heardNow : w.environments.heard(duration(age))}
    </span>
  );
}

export function Uptime({ environment }: { environment: Pick<Environment, 'upSince'> }) {
  const { duration } = useWords();
  const now = useNow();
  return (
    <span className="whitespace-nowrap">
      {environment.upSince == null ? '–' : duration(Math.max(0, now - environment.upSince))}
    </span>
  );
}
