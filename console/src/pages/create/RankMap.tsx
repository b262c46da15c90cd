import type { Preview } from '~/api/types';
import { classes } from '~/ui/classes';
import { useWords } from '~/words';

type Slots = Preview['rankMap'];
/** Above so many the squares are small and without numbers. */
const NUMBERED = 64;

/** One square per rank, by node in the order of their ranks. */
export function RankMap({ slots, isOld }: { slots: Slots; isOld: boolean }) {
  const { w, number } = useWords();
  const nodes = new Map<string, Slots>();
  for (const slot of slots) nodes.set(slot.node, [...(nodes.get(slot.node) ?? []), slot]);
  const isNumbered = slots.length <= NUMBERED;
  return (
    <section className={classes('border-t border-line pt-4 transition-opacity', isOld && 'opacity-60')}>
      <h3 className="flex justify-between pb-2 text-xs text-muted">
        {w.create.rankMap}
        <span>{w.create.rankMapNote(number(slots.length))}</span>
      </h3>
      <ul className="flex max-h-60 flex-col gap-2 overflow-y-auto">
        {[...nodes].map(([node, ranks]) => (
          <li key={node}>
            {nodes.size > 1 ? (
              <p className="truncate pb-1 text-2xs text-faint" title={node}>
                {node}
              </p>
            ) : null}
            <div className="flex flex-wrap gap-1">
              {ranks.map((slot) => {
                const gpu = slot.gpu == null ? '' : ` · ${w.create.slotGpu(String(slot.gpu))}`;
                const name = `${w.create.slot(String(slot.rank), slot.worker)}${gpu}`;
                return (
                  <span
                    key={String(slot.rank)}
                    role="img"
                    aria-label={name}
                    title={name}
                    className={classes(
                      'flex items-center justify-center rounded-sm text-2xs font-medium',
                      isNumbered ? 'size-6' : 'size-2.5',
                      Number(slot.nodeRank) === 0 ? 'bg-accent text-on-accent' : 'bg-accent-soft text-accent',
                    )}
                  >
                    {isNumbered ? String(slot.rank) : null}
                  </span>
                );
              })}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
