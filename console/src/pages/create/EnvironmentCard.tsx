import { memo } from 'react';
import { gpuText, holders, isAway } from '~/api/environments';
import { EnvironmentPill } from '~/api/Status';
import type { Environment } from '~/api/types';
import { Checkbox } from '~/ui/Checkbox';
import { classes } from '~/ui/classes';
import { Fact } from '~/ui/Fact';
import { ChipIcon, ClockIcon, DiskIcon, PinIcon } from '~/ui/icons';
import { useNow } from '~/ui/now';
import { Badge } from '~/ui/Pill';
import { useWords } from '~/words';

type EnvironmentCardProps = {
  environment: Environment;
  isChosen: boolean;
  isMaster: boolean;
  /** The name of a task. */
  nameOf: (id: string) => string;
  onToggle: (id: string, isRange: boolean) => void;
};

/** An environment to tick: the whole card does it. */
export const EnvironmentCard = memo(function EnvironmentCard(props: EnvironmentCardProps) {
  const { environment, isChosen, isMaster, nameOf, onToggle } = props;
  const { w, say, number, duration } = useWords();
  const now = useNow();
  const away = isAway(environment.status);
  const isBlocked = away && !isChosen;
  const tasks = holders(environment);
  const heard = environment.heartbeatAgeMs;
  const remark = away
    ? heard == null
      ? w.create.away
      : w.create.awaySince(duration(heard))
    : environment.status === 'drained'
      ? w.create.drained
      : tasks.length > 0
        ? w.create.waitsFor(tasks.map(nameOf).join(', '))
        : null;
  const toggle = (isRange: boolean) => {
    if (!isBlocked) onToggle(environment.id, isRange);
  };
  return (
    <div
      role="group"
      aria-label={environment.name}
      title={isBlocked ? (remark ?? undefined) : undefined}
      onClick={(event) => {
        if (!(event.target as HTMLElement).closest('[role="checkbox"]')) toggle(event.shiftKey);
      }}
      onKeyDown={() => {}}
      className={classes(
        'flex h-full gap-3 rounded-lg border p-3 text-left transition-colors select-none',
        isBlocked ? 'cursor-not-allowed border-line bg-sunken' : 'cursor-pointer',
        isChosen ? 'border-accent bg-accent-soft' : !isBlocked && 'border-line hover:border-line-strong hover:bg-hover',
      )}
    >
      <Checkbox
        aria-label={environment.name}
        checked={isChosen}
        disabled={isBlocked}
        onChange={(_, event) => toggle(event instanceof MouseEvent && event.shiftKey)}
        className="mt-0.5"
      />
      <div className="min-w-0 flex-1">
        <div className="flex items-center gap-2">
          <span className={classes('truncate font-medium', isBlocked && 'text-muted')} title={environment.name}>
            {environment.name}
          </span>
          {isMaster ? (
            <span className="inline-flex h-5 shrink-0 items-center rounded border border-warn/40 bg-warn-soft px-1.5 text-2xs font-medium text-warn">
              {w.create.master}
            </span>
          ) : null}
        </div>
        <div className="mt-1.5 flex items-center gap-1.5">
          <Badge>{say(environment.kindText)}</Badge>
          <EnvironmentPill environment={environment} />
          {remark ? (
            <span className="min-w-0 truncate text-xs text-warn" title={remark}>
              {remark}
            </span>
          ) : null}
        </div>
        <dl className="mt-2 grid grid-cols-2 gap-x-3 gap-y-1 text-xs text-muted">
          <Fact icon={<PinIcon />} label={w.common.zone}>
            {environment.zone ?? w.common.noZone}
          </Fact>
          <Fact icon={<DiskIcon />} label={w.environments.filters.image}>
            {environment.image ?? w.environments.noImage}
          </Fact>
          <Fact icon={<ChipIcon />} label="GPU">
            {gpuText(environment) ?? w.create.workerCount(number(environment.workers.length))}
          </Fact>
          <Fact icon={<ClockIcon />} label={w.environments.sorts.uptime}>
            {environment.upSince == null ? '–' : duration(now - environment.upSince)}
          </Fact>
        </dl>
      </div>
    </div>
  );
});
