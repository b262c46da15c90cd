import { apiUrl } from '~/api/client';
import type { ServerStatus } from '~/api/types';
import { Banner } from '~/ui/Banner';
import { Card } from '~/ui/Card';
import { Progress } from '~/ui/Progress';
import { useWords } from '~/words';

export function Server({ status }: { status: ServerStatus }) {
  const { w, bytes, say, date } = useWords();
  const { disk } = status;
  const used = 1 - disk.freeBytes / (disk.sizeBytes || 1);
  const facts: [string, string][] = [
    [w.settings.version, status.version],
    [w.settings.cluster, status.cluster],
    [w.settings.dataDir, status.dataDir],
    [w.settings.reserve, bytes(disk.reserveBytes)],
    [w.settings.logBudget, bytes(disk.logBudgetBytes)],
    [w.settings.logBudgetPerTask, bytes(disk.logBudgetPerTaskBytes)],
    [w.settings.dropped, bytes(status.logBytesDropped)],
  ];
  if (status.fingerprint) facts.push([w.settings.fingerprint, status.fingerprint]);
  if (status.believedTime != null) facts.push([w.settings.serverTime, date(status.believedTime)]);
  return (
    <Card
      title={w.settings.server}
      bodyClass="p-4"
      actions={
        <>
          <a href={apiUrl('/api/docs')} className="text-xs text-accent hover:underline">
            {w.settings.apiDocs}
          </a>
          <a href={apiUrl('/metrics')} className="text-xs text-accent hover:underline">
            {w.settings.metrics}
          </a>
        </>
      }
    >
      {disk.complaint ? (
        <Banner tone="warn" className="mb-3">
          {say(disk.complaint)}
        </Banner>
      ) : null}
      <div className="mb-3 flex items-center justify-between gap-3 text-sm">
        <span className="text-muted">{w.settings.disk}</span>
        <span>{w.settings.diskFree(bytes(disk.freeBytes), bytes(disk.sizeBytes))}</span>
      </div>
      <Progress share={used} label={w.settings.disk} tone={disk.complaint ? 'warn' : 'accent'} />
      <dl className="mt-4 divide-y divide-line">
        {facts.map(([name, value]) => (
          <div key={name} className="flex items-baseline justify-between gap-4 py-1.5 text-sm">
            <dt className="shrink-0 text-muted">{name}</dt>
            <dd className="min-w-0 truncate font-mono text-xs" title={value}>
              {value}
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}
