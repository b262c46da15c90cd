import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import { toast } from '~/ui/Toast';
import { useWords } from '~/words';
import { ApiError } from './error';

type Act<V, R> = {
  /** What is asked of the server. */
  call: (value: V) => Promise<R>;
  /** What is read anew afterwards. */
  changes: readonly QueryKey[];
  /** What is said when it is done. */
  done?: (result: R, value: V) => string;
  onDone?: (result: R, value: V) => void;
  /** A form shows its refusals itself. */
  isQuiet?: boolean;
};

/** Something that a person does: asked for, told about, and what it changes read anew. */
export function useAct<V, R>({ call, changes, done, onDone, isQuiet }: Act<V, R>) {
  const client = useQueryClient();
  const { w } = useWords();
  return useMutation<R, Error, V>({
    mutationFn: call,
    onSuccess: async (result, value) => {
      if (done) toast('good', done(result, value));
      onDone?.(result, value);
      await Promise.all(changes.map((queryKey) => client.invalidateQueries({ queryKey })));
    },
    onError: (error) => {
      if (!isQuiet) toast('bad', error.message || w.common.unreachable, error instanceof ApiError ? error.hint : null);
    },
  });
}
