import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Empty } from '~/ui/Empty';
import { SearchInput } from '~/ui/Field';
import { PlusIcon } from '~/ui/icons';
import { PageHeader } from '~/ui/PageHeader';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import { Loaded } from './Loaded';
import { useDenied } from './useWhyNot';

type RegistryPageProps<T> = {
  words: { title: string; create: string; search: string; empty: string; emptyHint: string };
  note?: string;
  icon: ReactNode;
  /** What would register the first one. */
  command: string;
  search: string;
  onSearch: (text: string) => void;
  query: UseQueryResult<{ items: T[] }>;
  row: (item: T) => ReactNode;
  creating: (onClose: () => void) => ReactNode;
};

/** The condition that a search for a name is to the server. */
export function nameFilter(text: string): string | undefined {
  const name = text.replaceAll('"', '').trim();
  return name ? `name~"${name}"` : undefined;
}

/** A page of things that have names: searched, listed, made. */
export function RegistryPage<T>(props: RegistryPageProps<T>) {
  const { words, note, icon, command, search, onSearch, query, row, creating } = props;
  const { w } = useWords();
  const [isCreating, setCreating] = useState(false);
  const denied = useDenied('create');
  return (
    <>
      <PageHeader
        title={words.title}
        note={note}
        actions={
          <Button tone="primary" icon={<PlusIcon />} disabledReason={denied} onClick={() => setCreating(true)}>
            {words.create}
          </Button>
        }
      />
      <SearchInput label={words.search} value={search} onChange={onSearch} className="mb-4 w-full sm:w-72" />
      <Card>
        <Loaded
          query={query}
          loading={<SkeletonRows count={5} className="h-12" />}
          isEmpty={(data) => data.items.length === 0}
          empty={
            nameFilter(search) ? (
              <Empty title={w.common.noMatch} />
            ) : (
              <Empty icon={icon} title={words.empty} hint={words.emptyHint} command={command} />
            )
          }
        >
          {(data) => <ul className="divide-y divide-line">{data.items.map(row)}</ul>}
        </Loaded>
      </Card>
      {isCreating ? creating(() => setCreating(false)) : null}
    </>
  );
}
