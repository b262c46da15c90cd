import { useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { IconButton } from '~/ui/Button';
import { SearchInput } from '~/ui/Field';
import { ArrowDownIcon, ArrowUpIcon } from '~/ui/icons';
import { useWords } from '~/words';
import { hitsOf, type LogQuestion, MOST_MATCHES, searchQuery, stepTo } from './search';

/** Who has not typed for so long is not about to type on. */
const PAUSE = 200;

type LogSearchProps = {
  question: LogQuestion;
  shown: string | null;
  onText: (text: string) => void;
  onHit: (key: string) => void;
};

/** Looks through all that was written, on the server: how many lines match, and which of them is shown. */
export function LogSearch({ question, shown, onText, onHit }: LogSearchProps) {
  const { w, number } = useWords();
  const [typed, setTyped] = useState(question.text);
  // What is looked for: at once, while the address and the page that reads it come after.
  const [text, setText] = useState(question.text);
  const [from, setFrom] = useState(question.text);
  if (from !== question.text) {
    setFrom(question.text);
    setTyped(question.text);
    setText(question.text);
  }
  const seek = useCallback(
    (wanted: string) => {
      setText(wanted);
      onText(wanted);
    },
    [onText],
  );
  useEffect(() => {
    if (typed === text) return;
    const due = setTimeout(() => seek(typed), PAUSE);
    return () => clearTimeout(due);
  }, [typed, text, seek]);

  const found = useInfiniteQuery(searchQuery({ ...question, text }));
  const hits = useMemo(() => hitsOf(found.data?.pages ?? [], question.ranks), [found.data, question.ranks]);
  const wantsMore = found.hasNextPage && !found.isFetchingNextPage && hits.length < MOST_MATCHES;
  const { fetchNextPage } = found;
  useEffect(() => {
    if (wantsMore) void fetchNextPage();
  }, [wantsMore, fetchNextPage]);

  const at = hits.findIndex((hit) => hit.key === shown);
  const step = (by: 1 | -1) => {
    const hit = stepTo(hits, shown, by);
    if (hit) onHit(hit.key);
  };
  const isAsked = text.trim() !== '';
  const isSearching = isAsked && (found.isPending || found.hasNextPage) && hits.length < MOST_MATCHES;
  const all = `${number(hits.length)}${found.hasNextPage ? '+' : ''}`;
  const status = !isAsked
    ? ''
    : hits.length > 0
      ? w.logs.matches(at < 0 ? '–' : number(at + 1), all)
      : isSearching
        ? w.logs.searching
        : w.logs.noMatches;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Enter in the field goes to the next match
    <div
      className="flex w-full min-w-0 items-center gap-1 sm:w-auto sm:max-w-105 sm:flex-1"
      onKeyDown={(event) => {
        if (event.key !== 'Enter') return;
        if (typed === text) step(event.shiftKey ? -1 : 1);
        else seek(typed);
      }}
    >
      <SearchInput label={w.logs.search} value={typed} onChange={setTyped} className="min-w-0 flex-1" />
      {isAsked ? (
        <>
          <span role="status" className="min-w-16 px-1 text-center text-xs whitespace-nowrap text-muted">
            {status}
          </span>
          <IconButton label={w.logs.previous} size="sm" disabled={hits.length === 0} onClick={() => step(-1)}>
            <ArrowUpIcon />
          </IconButton>
          <IconButton label={w.logs.next} size="sm" disabled={hits.length === 0} onClick={() => step(1)}>
            <ArrowDownIcon />
          </IconButton>
        </>
      ) : null}
    </div>
  );
}
