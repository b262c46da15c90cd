import { Link } from '@tanstack/react-router';
import { useRef } from 'react';
import { type Group, groupCalls, type WorkerRow, type WorkerStatus } from '~/api/groups';
import { keys } from '~/api/queries';
import { useAct } from '~/api/useAct';
import { useDenied, useWhyNot } from '~/api/useWhyNot';
import { Button } from '~/ui/Button';
import { Checkbox } from '~/ui/Checkbox';
import { classes } from '~/ui/classes';
import { SearchInput } from '~/ui/Field';
import { ChevronDownIcon, PlusIcon } from '~/ui/icons';
import { Menu, MenuItem, MenuSeparator } from '~/ui/Menu';
import { Pill, type Tone } from '~/ui/Pill';
import { VirtualRows } from '~/ui/VirtualRows';
import { useWords } from '~/words';
import { ticks } from './selection';

const TONES: Record<WorkerStatus, Tone> = {
  free: 'good',
  busy: 'accent',
  suspect: 'warn',
  offline: 'bad',
  drained: 'idle',
  lost: 'bad',
  missing: 'bad',
};
const GRID =
  'grid grid-cols-[28px_minmax(0,2fr)_minmax(0,0.6fr)_minmax(0,1fr)_72px] items-center gap-2 px-4 sm:grid-cols-[28px_minmax(0,1.2fr)_minmax(0,1fr)_minmax(0,1fr)_72px]';
const ROW = 36;

type WorkerListProps = {
  workers: readonly WorkerRow[];
  groups: readonly Group[];
  ticked: ReadonlySet<string>;
  onTicked: (ticked: ReadonlySet<string>) => void;
  text: string;
  onText: (text: string) => void;
  /** Asks for a group that gets those that are ticked. */
  onCreate: () => void;
};

export function WorkerList({ workers, groups, ticked, onTicked, text, onText, onCreate }: WorkerListProps) {
  const { w, number } = useWords();
  const last = useRef<string | null>(null);
  const unassigned = groups.find((group) => group.isDefault)?.id;
  const wanted = text.trim().toLowerCase();
  const shown = workers.filter((worker) =>
    [worker.id, worker.groupName, worker.zone ?? ''].some((part) => part.toLowerCase().includes(wanted)),
  );
  const ids = shown.map((worker) => worker.id);
  const tickedHere = ids.filter((id) => ticked.has(id));
  const move = useAct({
    call: (target: Group) => groupCalls.move(target.id, [...ticked]),
    changes: [keys.groups],
    done: ({ moved }, target) => w.groups.moved(number(moved), target.isDefault ? w.groups.unassigned : target.name),
    onDone: () => onTicked(new Set()),
  });
  const whyNot = useWhyNot();
  const noGroups = useDenied('create');
  // A worker leaves one group and comes into another: both are changed.
  const left = groups.filter((group) => !group.isDefault && group.workers.some((id) => ticked.has(id)));
  const whyNotTo = (target: Group) => {
    const changed = [...left.filter((group) => group !== target), ...(target.isDefault ? [] : [target])];
    return changed.map((group) => whyNot(group, 'change')).find((reason) => reason !== null) ?? null;
  };
  const tick = (id: string, isTicked: boolean, isRange: boolean) => {
    onTicked(ticks(ticked, ids, id, isTicked, isRange ? last.current : null));
    last.current = id;
  };
  return (
    <div>
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2.5">
        <SearchInput label={w.groups.searchWorkers} value={text} onChange={onText} className="w-full sm:w-52" />
        <span aria-live="polite" className="text-sm text-muted">
          {w.groups.selected(number(ticked.size))}
        </span>
        <div className="ml-auto">
          <Menu
            trigger={
              <Button
                tone={ticked.size > 0 ? 'primary' : 'plain'}
                disabled={ticked.size === 0}
                title={ticked.size === 0 ? w.groups.tickFirst : undefined}
                isBusy={move.isPending}
              >
                {w.groups.moveTo}
                <ChevronDownIcon />
              </Button>
            }
          >
            {groups
              .filter((group) => !group.isDefault || groups.length > 1)
              .map((group) => (
                <MenuItem key={group.id} disabledReason={whyNotTo(group)} onSelect={() => move.mutate(group)}>
                  {group.isDefault ? w.groups.unassigned : group.name}
                </MenuItem>
              ))}
            {groups.length > 1 ? <MenuSeparator /> : null}
            <MenuItem icon={<PlusIcon />} disabledReason={noGroups} onSelect={onCreate}>
              {w.groups.create}
            </MenuItem>
          </Menu>
        </div>
      </div>
      <VirtualRows
        label={w.groups.workers}
        count={shown.length}
        rowHeight={ROW}
        className="h-[min(432px,60vh)]"
        head={
          <div role="row" className={classes(GRID, 'h-9 border-b border-line text-xs font-medium text-muted')}>
            <span role="columnheader">
              <Checkbox
                aria-label={w.groups.selectAll}
                checked={ids.length > 0 && tickedHere.length === ids.length}
                isMixed={tickedHere.length > 0 && tickedHere.length < ids.length}
                onChange={(isTicked) => onTicked(isTicked ? new Set([...ticked, ...ids]) : new Set())}
              />
            </span>
            <span role="columnheader">{w.groups.worker}</span>
            <span role="columnheader">{w.groups.gpu}</span>
            <span role="columnheader">{w.groups.group}</span>
            <span role="columnheader">{w.common.status}</span>
          </div>
        }
        row={(index) => {
          const worker = shown[index];
          return worker ? (
            <Row
              worker={worker}
              group={worker.groupId === unassigned ? w.groups.unassigned : worker.groupName}
              isTicked={ticked.has(worker.id)}
              onTick={tick}
            />
          ) : null;
        }}
      />
    </div>
  );
}

type RowProps = {
  worker: WorkerRow;
  group: string;
  isTicked: boolean;
  onTick: (id: string, isTicked: boolean, isRange: boolean) => void;
};

function Row({ worker, group, isTicked, onTick }: RowProps) {
  const { say } = useWords();
  const gpu = worker.gpu === null ? '–' : `${worker.gpuType ?? 'GPU'} · ${worker.gpu}`;
  return (
    <div
      role="row"
      tabIndex={-1}
      onClick={(event) => {
        if (!(event.target as HTMLElement).closest('a, [role="checkbox"]'))
          onTick(worker.id, !isTicked, event.shiftKey);
      }}
      onKeyDown={() => {}}
      className={classes(
        GRID,
        'h-full cursor-pointer border-b border-line text-sm select-none hover:bg-hover',
        isTicked && 'bg-accent-soft',
      )}
    >
      <span role="cell">
        <Checkbox
          aria-label={worker.id}
          checked={isTicked}
          onChange={(next, event) => onTick(worker.id, next, event instanceof MouseEvent && event.shiftKey)}
        />
      </span>
      <WorkerName id={worker.id} />
      <span role="cell" className="truncate text-xs text-muted" title={gpu}>
        {gpu}
      </span>
      <span role="cell" className="truncate text-xs text-muted" title={group}>
        {group}
      </span>
      <span role="cell">
        {worker.taskId ? (
          <Link to="/training/$id" params={{ id: worker.taskId }} title={worker.taskId}>
            <Pill tone={TONES[worker.status]}>{say(worker.statusText)}</Pill>
          </Link>
        ) : (
          <Pill tone={TONES[worker.status]}>{say(worker.statusText)}</Pill>
        )}
      </span>
    </div>
  );
}

/** A node's name may be cut where it is long; the number of its worker is not. */
function WorkerName({ id }: { id: string }) {
  const at = id.lastIndexOf('-');
  return (
    <span role="cell" className="flex min-w-0 font-mono text-xs" title={id}>
      <span className="truncate">{id.slice(0, at)}</span>
      <span>{id.slice(at)}</span>
    </span>
  );
}
