import type { Finding, Preflight } from '~/api/types';
import { Card } from '~/ui/Card';
import { Command } from '~/ui/Copy';
import { CheckIcon, InfoIcon, WarnIcon } from '~/ui/icons';
import { prose } from '~/ui/prose';
import { useWords } from '~/words';
import { bySeverity, type Severity } from './severity';

const ICONS: Record<Severity, React.ReactNode> = {
  error: <WarnIcon className="mt-0.5 shrink-0 text-bad" />,
  warning: <WarnIcon className="mt-0.5 shrink-0 text-warn" />,
  ok: <CheckIcon className="mt-0.5 shrink-0 text-good" />,
  skipped: <InfoIcon className="mt-0.5 shrink-0 text-faint" />,
};

/** What was found, the worst first, each with what it rests on and the command that mends it. */
export function MeasuredFindings({ preflight }: { preflight: Preflight }) {
  const { w, value } = useWords();
  const { errors, warnings } = preflight.counts;
  const names: Record<Severity, string> = {
    error: w.preflight.errors,
    warning: w.preflight.warnings,
    ok: w.preflight.well,
    skipped: w.preflight.skipped,
  };
  const note = w.preflight.summary(String(errors), String(warnings), value(preflight.seconds));
  return (
    <Card title={w.preflight.measured} note={note}>
      {bySeverity(preflight.findings).map(({ severity, findings }) => (
        <section key={severity} aria-label={names[severity]}>
          <h3 className="border-b border-line bg-sunken px-4 py-1.5 text-xs font-medium text-muted">
            {names[severity]} · {findings.length}
          </h3>
          <ul className="divide-y divide-line">
            {findings.map((finding) => (
              <Row key={`${finding.check} ${finding.text.en}`} finding={finding} nodes={preflight.nodes} />
            ))}
          </ul>
        </section>
      ))}
    </Card>
  );
}

function Row({ finding, nodes }: { finding: Finding; nodes: Preflight['nodes'] }) {
  const { w, say, tell, advise } = useWords();
  const isWell = finding.state === 'ok' || finding.state === 'skipped';
  const concerned = (finding.nodes ?? []).flatMap((place) => nodes[place]?.name ?? []);
  // What is well needs no evidence; a command that it has nevertheless is worth its line.
  const fix = isWell && !finding.fix?.command ? null : finding.fix;
  return (
    <li className="flex items-start gap-2.5 px-4 py-2.5 text-sm">
      {ICONS[finding.state]}
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <p>
          {tell(finding.text)}
          {concerned.length > 0 && !isWell ? (
            <span className="ml-2 font-mono text-xs text-muted">{concerned.join(', ')}</span>
          ) : null}
        </p>
        {finding.evidence && !isWell ? (
          <p className="text-xs text-muted">
            {w.preflight.seen} {say(finding.evidence)}
          </p>
        ) : null}
        {fix ? <p className="text-xs text-muted">{prose(advise(fix.text))}</p> : null}
        {fix?.command ? <Command text={fix.command} className="mt-1" /> : null}
      </div>
    </li>
  );
}
