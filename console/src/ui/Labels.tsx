import { createContext, useContext } from 'react';

/** The few words that parts say by themselves; the application fills them in the language it speaks. */
export type Labels = {
  copy: string;
  copied: string;
  close: string;
  retry: string;
  failed: string;
  requestId: string;
  noMatch: string;
  dismiss: string;
  clear: string;
  search: string;
};

const Context = createContext<Labels>({
  copy: 'Copy',
  copied: 'Copied',
  close: 'Close',
  retry: 'Try again',
  failed: 'Failed',
  requestId: 'Request',
  noMatch: 'Nothing matches',
  dismiss: 'Dismiss',
  clear: 'Clear',
  search: 'Search',
});

export const LabelsProvider = Context.Provider;
export const useLabels = () => useContext(Context);
