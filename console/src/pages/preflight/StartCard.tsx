import { useState } from 'react';
import { quoted } from '~/api/argv';
import { refusalOf } from '~/api/error';
import { startPreflight } from '~/api/preflights';
import { keys } from '~/api/queries';
import { useAct } from '~/api/useAct';
import { useDenied } from '~/api/useWhyNot';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Command } from '~/ui/Copy';
import { Field, Input } from '~/ui/Field';
import { PlayIcon } from '~/ui/icons';
import { useWords } from '~/words';

type StartCardProps = { names: readonly string[]; onStarted: (id: string) => void };

/** Lets the agents of the chosen environments check each other. */
export function StartCard({ names, onStarted }: StartCardProps) {
  const { w } = useWords();
  const [path, setPath] = useState('');
  const denied = useDenied('create');
  const folder = path.trim();
  const start = useAct({
    call: () => startPreflight({ environments: [...names], ...(folder ? { path: folder } : {}) }),
    changes: [keys.preflights],
    onDone: (started) => onStarted(started.id),
    isQuiet: true,
  });
  const refusal = refusalOf(start.error, w.common);
  const command = `fermi doctor --nodes ${quoted(names.join(','))}${folder ? ` --path ${quoted(folder)}` : ''}`;
  return (
    <Card title={w.preflight.measure} note={w.preflight.measureNote} bodyClass="flex flex-col gap-3 p-4">
      <form
        className="flex flex-wrap items-start gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          start.mutate(undefined);
        }}
      >
        <Field
          label={w.preflight.path}
          hint={w.preflight.pathHint}
          error={refusal.at('path')}
          className="w-full sm:w-80"
        >
          {(field) => (
            <Input {...field} value={path} placeholder="/data" onChange={(event) => setPath(event.target.value)} />
          )}
        </Field>
        <Button
          type="submit"
          tone="primary"
          icon={<PlayIcon />}
          isBusy={start.isPending}
          disabledReason={denied}
          className="sm:mt-6.5"
        >
          {w.preflight.start}
        </Button>
      </form>
      {refusal.text && !refusal.at('path') ? (
        <p role="alert" className="text-sm text-bad">
          {refusal.text}
        </p>
      ) : null}
      <Command text={command} />
    </Card>
  );
}
