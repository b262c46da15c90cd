import { useQuery } from '@tanstack/react-query';
import { useWords } from '~/words';
import { frameworksQuery } from './queries';

/** A framework as people call it. */
export function useFrameworkName(value: string): string {
  const { w } = useWords();
  const frameworks = useQuery(frameworksQuery());
  if (value === 'command') return w.common.ownCommand;
  return frameworks.data?.items.find((card) => card.value === value)?.label ?? value;
}
