import { useCallback, useMemo } from 'react';
import { LogView } from '~/logs/LogView';
import type { TabProps } from '../../Page';

export function Logs({ task, search, onSearch }: TabProps) {
  const nodes = useMemo(() => new Map(task.rankMap.map((slot) => [Number(slot.rank), slot.node])), [task.rankMap]);
  const nodeOf = useCallback((rank: number) => nodes.get(rank) ?? '', [nodes]);
  const { exception, first } = task.verdict ?? {};
  return (
    <LogView
      taskId={task.id}
      worldSize={task.worldSize || task.rankMap.length}
      attempts={task.attempt}
      nodeOf={nodeOf}
      error={exception && first ? { text: exception, rank: first.rank } : null}
      search={search}
      onSearch={onSearch}
    />
  );
}
