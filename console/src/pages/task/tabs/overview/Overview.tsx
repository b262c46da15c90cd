import { Loaded } from '~/api/Loaded';
import { Banner } from '~/ui/Banner';
import { Card } from '~/ui/Card';
import { Empty } from '~/ui/Empty';
import { prose } from '~/ui/prose';
import { SkeletonRows } from '~/ui/Skeleton';
import { useWords } from '~/words';
import type { TabProps } from '../../Page';
import { RankSquares } from '../../RankSquares';
import { useRanks } from '../../useRanks';
import { Facts } from './Facts';
import { LossNow } from './LossNow';
import { TimeSpent } from './TimeSpent';
import { Waterfall } from './Waterfall';

/** For whom it waits is said above, as long as it is so. */
const SAID_ABOVE = 'environments_busy';

export function Overview({ task, onSearch }: TabProps) {
  const { w, tell, advise } = useWords();
  const { query, rows, about } = useRanks(task);
  const pick = (rank: number) => onSearch({ tab: 'logs', ranks: String(rank), line: undefined });
  return (
    <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_360px]">
      <div className="flex min-w-0 flex-col gap-4">
        <Card title={w.task.rankMap} note={w.task.rankMapHint} bodyClass="p-4">
          <Loaded
            query={query}
            loading={<SkeletonRows count={2} />}
            isEmpty={() => rows.length === 0}
            empty={<Empty title={w.task.noRanks} hint={w.task.noRanksHint} />}
          >
            {() => <RankSquares rows={rows} about={about} task={task} onPick={pick} />}
          </Loaded>
        </Card>
        <LossNow task={task} />
        {task.ledger ? <TimeSpent ledger={task.ledger} /> : null}
        <Card title={w.task.startup} note={w.task.startupHint}>
          <Waterfall task={task} />
        </Card>
      </div>
      <div className="flex min-w-0 flex-col gap-4">
        <Facts task={task} />
        {task.warnings
          .filter((warning) => warning.id !== SAID_ABOVE)
          .map((warning) => (
            <Banner key={warning.id} tone="info">
              {tell(warning.text)}
              {warning.hint ? <span className="block text-muted">{prose(advise(warning.hint))}</span> : null}
            </Banner>
          ))}
      </div>
    </div>
  );
}
