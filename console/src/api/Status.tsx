import { Pill, type Tone } from '~/ui/Pill';
import { useWords } from '~/words';
import type { Environment, EnvironmentStatus, TaskPhase, TaskRow } from './types';

const PHASES: Record<TaskPhase, Tone> = {
  initializing: 'info',
  queued: 'idle',
  starting: 'info',
  running: 'good',
  restarting: 'warn',
  stopping: 'warn',
  succeeded: 'accent',
  failed: 'bad',
  stopped: 'idle',
};
const MOVING: ReadonlySet<TaskPhase> = new Set(['initializing', 'starting', 'running', 'restarting', 'stopping']);
const STATUSES: Record<EnvironmentStatus, Tone> = {
  running: 'good',
  busy: 'accent',
  suspect: 'warn',
  offline: 'bad',
  drained: 'idle',
  lost: 'bad',
};

export const phaseTone = (phase: TaskPhase): Tone => PHASES[phase];

/** The state of a task, in the server's words. */
export function TaskPill({ task }: { task: Pick<TaskRow, 'status' | 'statusText' | 'reason'> }) {
  const { say } = useWords();
  return (
    <Pill tone={PHASES[task.status]} isMoving={MOVING.has(task.status)} title={say(task.reason) || undefined}>
      {say(task.statusText)}
    </Pill>
  );
}

export function EnvironmentPill({ environment }: { environment: Pick<Environment, 'status' | 'statusText'> }) {
  const { say } = useWords();
  return <Pill tone={STATUSES[environment.status]}>{say(environment.statusText)}</Pill>;
}
