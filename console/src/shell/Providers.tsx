import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { ApiError } from '~/api/error';
import { lookAgain } from '~/api/queries';
import { Live } from '~/live/Live';
import { router } from '~/routes';
import { type Labels, LabelsProvider } from '~/ui/Labels';
import { ToastProvider } from '~/ui/Toast';
import { followSystemTheme } from '~/ui/theme';
import { useWords } from '~/words';

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // A refusal is an answer; only a connection that failed is worth a second try.
      retry: (count, error) => error instanceof ApiError && error.status === 0 && count < 2,
      refetchOnWindowFocus: true,
    },
  },
});

export function Providers() {
  const { w, language } = useWords();
  const labels = useMemo<Labels>(
    () => ({
      copy: w.common.copy,
      copied: w.common.copied,
      close: w.common.close,
      retry: w.common.retry,
      failed: w.common.failed,
      requestId: w.common.requestId,
      noMatch: w.common.noMatch,
      dismiss: w.common.dismiss,
      clear: w.common.clear,
      search: w.common.search,
    }),
    [w],
  );
  useEffect(followSystemTheme, []);
  // Some sentences come in one language only: they are asked for again.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the language is what it is about
  useEffect(() => void lookAgain(client), [language]);
  return (
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={client}>
        <LabelsProvider value={labels}>
          <ToastProvider>
            <Live>
              <RouterProvider router={router} />
            </Live>
          </ToastProvider>
        </LabelsProvider>
      </QueryClientProvider>
    </CSPProvider>
  );
}
