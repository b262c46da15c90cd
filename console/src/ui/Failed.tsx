import { Button } from './Button';
import { RestartIcon, WarnIcon } from './icons';
import { useLabels } from './Labels';
import { prose } from './prose';

type FailedProps = {
  text: string;
  hint?: string | null | undefined;
  requestId?: string | null | undefined;
  onRetry?: (() => void) | undefined;
};

/** What went wrong, what to do, and a way to try again. */
export function Failed({ text, hint, requestId, onRetry }: FailedProps) {
  const labels = useLabels();
  return (
    <div role="alert" className="flex flex-col items-center gap-3 px-6 py-10 text-center">
      <span className="flex size-10 items-center justify-center rounded-full bg-bad-soft text-bad">
        <WarnIcon />
      </span>
      <div className="max-w-130">
        <p className="font-medium">{prose(text || labels.failed)}</p>
        {hint ? <p className="mt-1 text-sm text-muted">{prose(hint)}</p> : null}
        {requestId ? (
          <p className="mt-2 font-mono text-2xs text-faint">
            {labels.requestId} {requestId}
          </p>
        ) : null}
      </div>
      {onRetry ? (
        <Button onClick={onRetry} icon={<RestartIcon />}>
          {labels.retry}
        </Button>
      ) : null}
    </div>
  );
}
