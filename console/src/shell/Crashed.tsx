import { Button } from '~/ui/Button';
import { Empty } from '~/ui/Empty';
import { WarnIcon } from '~/ui/icons';
import { useWords } from '~/words';

/** A fault of ours: said plainly, with what to report. */
export function Crashed({ error }: { error: unknown }) {
  const { w } = useWords();
  return (
    <Empty
      icon={<WarnIcon />}
      title={w.shell.crashed}
      hint={w.shell.crashedHint}
      command={error instanceof Error ? (error.stack ?? error.message) : String(error)}
      action={
        <Button tone="primary" onClick={() => window.location.reload()}>
          {w.shell.reload}
        </Button>
      }
    />
  );
}
