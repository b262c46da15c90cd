import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import { wishKey } from '~/api/client';
import { serverAddress } from '~/api/join';
import type { CreateRequest } from '~/api/types';
import { Card } from '~/ui/Card';
import { Copy } from '~/ui/Copy';
import { LongText } from '~/ui/LongText';
import { Tabs } from '~/ui/Tabs';
import { useWords } from '~/words';
import { TABS, type TextTab } from './search';
import { cliOf, curlOf, yamlOf } from './texts';

const route = getRouteApi('/training/create');

/** The same task as YAML, for the command line and for the API. */
export function SameTask({ request, nameOf }: { request: CreateRequest; nameOf: (id: string) => string }) {
  const { w } = useWords();
  const { tab = 'yaml' } = route.useSearch();
  const navigate = route.useNavigate();
  const server = serverAddress();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another request is another wish
  const key = useMemo(wishKey, [request]);
  const texts: Record<TextTab, () => string> = {
    yaml: () => yamlOf(request),
    cli: () => cliOf(request, server, nameOf),
    curl: () => curlOf(request, server, key),
  };
  const text = texts[tab]();
  return (
    <Card title={w.create.sameAs} note={w.create.sameAsNote} actions={<Copy text={text} />}>
      <Tabs
        aria-label={w.create.sameAs}
        className="px-4 pt-1 pb-4"
        value={tab}
        onChange={(next) =>
          void navigate({
            search: (before) => ({ ...before, tab: next === 'yaml' ? undefined : next }),
            replace: true,
            resetScroll: false,
          })
        }
        tabs={TABS.map((value) => ({ value, label: w.create.tabs[value] }))}
      >
        <LongText label={w.create.tabs[tab]} text={text} className="mt-3 rounded-md border border-line bg-sunken p-3" />
      </Tabs>
    </Card>
  );
}
