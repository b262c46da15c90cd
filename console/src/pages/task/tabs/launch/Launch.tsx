import { Choice } from '~/ui/Choice';
import { useWords } from '~/words';
import type { TabProps } from '../../Page';
import { Planned } from './Planned';
import { Started } from './Started';

/** What is started: as it really was, once ranks have been started, and as it is planned. */
export function Launch(props: TabProps) {
  const { w } = useWords();
  if (props.task.attempts.length === 0) return <Planned {...props} />;
  const shown = props.search.launch ?? 'started';
  return (
    <div className="flex flex-col gap-4">
      <Choice
        label={w.task.launch}
        isLabelHidden
        value={shown}
        options={[
          { value: 'started', label: w.task.asStarted },
          { value: 'planned', label: w.task.asPlanned },
        ]}
        onChange={(launch) => props.onSearch({ launch: launch === 'planned' ? launch : undefined })}
      />
      {shown === 'planned' ? <Planned {...props} /> : <Started {...props} />}
    </div>
  );
}
