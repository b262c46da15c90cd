import { useEffect, useRef, useState } from 'react';
import { Button, IconButton } from '~/ui/Button';
import { Checkbox } from '~/ui/Checkbox';
import { classes } from '~/ui/classes';
import { Input } from '~/ui/Field';
import { DownloadIcon, WarnIcon } from '~/ui/icons';
import { Select } from '~/ui/Select';
import { useWords } from '~/words';
import { LogSearch } from './LogSearch';
import type { LogSearchState } from './LogView';
import type { StreamKind } from './line';
import { parseRanks, type RankFilter } from './ranks';
import type { LogState } from './store';

type LogToolsProps = {
  taskId: string;
  attempts: number;
  state: LogState;
  search: LogSearchState;
  filter: RankFilter;
  onSearch: (change: LogSearchState) => void;
  onHit: (key: string) => void;
  isSeeking: boolean;
  onFirstError: () => void;
  isSaving: boolean;
  onDownload: () => void;
};

/** Search, filters and what can be done with the logs. */
export function LogTools(props: LogToolsProps) {
  const { taskId, attempts, state, search, filter, onSearch, onHit } = props;
  const { w, number } = useWords();
  const question = {
    taskId,
    text: search.q ?? '',
    ranks: filter,
    stream: search.stream ?? null,
    ...(search.attempt === undefined ? {} : { attempt: search.attempt }),
  };
  const [onText] = useState(() => (text: string) => onSearch({ q: text || undefined }));
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2">
      <LogSearch question={question} shown={search.line ?? null} onText={onText} onHit={onHit} />
      <RanksInput
        value={search.ranks ?? ''}
        onChange={(ranks) => onSearch({ ranks: ranks || undefined, line: undefined })}
      />
      <Select<StreamKind | 'all'>
        aria-label={w.logs.stream}
        value={search.stream ?? 'all'}
        options={[
          { value: 'all', label: w.logs.allStreams },
          { value: 'stdout', label: 'stdout' },
          { value: 'stderr', label: 'stderr' },
          { value: 'hang', label: w.logs.hang },
        ]}
        onChange={(stream) => onSearch({ stream: stream === 'all' ? undefined : stream })}
        className="!min-w-28"
      />
      {attempts > 1 ? (
        <Select
          aria-label={w.logs.attempt}
          value={String(search.attempt ?? 0)}
          options={[
            { value: '0', label: w.logs.newest },
            ...Array.from({ length: attempts }, (_, at) => ({
              value: String(at + 1),
              label: w.logs.attemptOf(number(at + 1)),
            })),
          ]}
          onChange={(attempt) => onSearch({ attempt: Number(attempt) || undefined, line: undefined })}
          className="!min-w-32"
        />
      ) : null}
      <div className="ml-auto flex flex-wrap items-center justify-end gap-2">
        <FollowPill state={state} />
        <span id="log-wrap" className="text-xs whitespace-nowrap text-muted">
          {w.logs.wrap}
        </span>
        <Checkbox
          aria-labelledby="log-wrap"
          checked={search.wrap ?? false}
          onChange={(next) => onSearch({ wrap: next || undefined })}
        />
        <Button
          size="sm"
          icon={<WarnIcon width="14" height="14" />}
          isBusy={props.isSeeking}
          aria-label={w.logs.firstError}
          title={w.logs.firstError}
          onClick={props.onFirstError}
        >
          <span className="hidden sm:inline">{w.logs.firstError}</span>
        </Button>
        <IconButton label={w.logs.download} isBusy={props.isSaving} onClick={props.onDownload}>
          {props.isSaving ? null : <DownloadIcon />}
        </IconButton>
      </div>
    </div>
  );
}

function FollowPill({ state }: { state: LogState }) {
  const { w, number } = useWords();
  const isLive = !state.isOver && !state.isDetached && state.stream === 'live';
  return (
    <span className="inline-flex items-center gap-1.5 text-xs whitespace-nowrap text-muted" title={w.logs.order}>
      <span
        aria-hidden="true"
        className={classes('size-1.5 rounded-full', isLive ? 'animate-pulse bg-good-fill' : 'bg-idle-fill')}
      />
      {isLive ? w.logs.following : state.isOver ? w.logs.over : null} {w.logs.lines(number(state.lines.length))}
    </span>
  );
}

/** The filter by ranks: it takes effect when it can be read. */
function RanksInput({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const { w } = useWords();
  const [typed, setTyped] = useState(value);
  const [from, setFrom] = useState(value);
  if (from !== value) {
    setFrom(value);
    setTyped(value);
  }
  const isWrong = parseRanks(typed) === undefined;
  // Lines arrive while one types: the wait must not begin anew with each of them.
  const tell = useRef(onChange);
  tell.current = onChange;
  useEffect(() => {
    if (typed.trim() === value || isWrong) return;
    const due = setTimeout(() => tell.current(typed.trim()), 400);
    return () => clearTimeout(due);
  }, [typed, value, isWrong]);
  return (
    <span className="flex items-center gap-1.5 text-xs text-muted">
      <span aria-hidden="true">rank</span>
      <Input
        aria-label={w.logs.ranks}
        aria-invalid={isWrong || undefined}
        title={isWrong ? w.logs.ranksWrong : w.logs.ranks}
        placeholder={w.logs.ranksHint}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        className="w-24 font-mono"
      />
    </span>
  );
}
