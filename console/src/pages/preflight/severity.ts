import type { Finding } from '~/api/types';

export type Severity = Finding['state'];
const SEVERITIES: Severity[] = ['error', 'warning', 'ok', 'skipped'];

/** What is worst first; what there is none of is left out. */
export function bySeverity(findings: readonly Finding[]): { severity: Severity; findings: Finding[] }[] {
  return SEVERITIES.map((severity) => ({
    severity,
    findings: findings.filter((finding) => finding.state === severity),
  })).filter((group) => group.findings.length > 0);
}
