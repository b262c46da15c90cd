import { PREFIX } from '~/api/base';
import { Button, buttonClass } from '~/ui/Button';
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
        <div className="flex justify-center gap-2">
          <Button tone="primary" onClick={() => window.location.reload()}>
            {w.shell.reload}
          </Button>
          <a href={PREFIX || '/'} className={buttonClass()}>
            {w.common.backHome}
          </a>
        </div>
      }
    />
  );
}
