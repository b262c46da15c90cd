import { clauses } from '~/api/clauses';
import type { Preview } from '~/api/types';
import { classes } from '~/ui/classes';
import { useWords } from '~/words';
import { sentence } from '~/words/format';

/** Whether it would start at once, on what and why there, or what it would wait for. */
export function Placement({ preview, isOld }: { preview: Preview; isOld: boolean }) {
  const { w, say } = useWords();
  if (!preview.placement) return null;
  const [first, ...rest] = clauses(say(preview.placement)).map(sentence);
  return (
    <section
      role="status"
      aria-label={w.create.queue}
      className={classes('border-t border-line pt-4 text-sm transition-opacity', isOld && 'opacity-60')}
    >
      <h3 className="pb-1 text-xs text-muted">{w.create.queue}</h3>
      <p className="font-medium [overflow-wrap:anywhere]">{first}</p>
      <ul className="mt-1 flex flex-col gap-1 text-xs text-muted [overflow-wrap:anywhere]">
        {rest.map((clause) => (
          <li key={clause}>{clause}</li>
        ))}
      </ul>
    </section>
  );
}
