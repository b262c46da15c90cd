import type { Words } from '../zh';

export const preflight: Words['preflight'] = {
  title: 'Preflight',
  about: 'See before the start whether the chosen environments go together',
  environments: 'Environments to check',
  none: 'No environments yet',
  noneHint: 'Run this on any machine:',
  choose: 'Choose at least one environment',
  findings: 'Findings',
  ready: 'Nothing found',
  readyHint: 'The server has no warning for these environments.',
  versions: 'Versions',
  versionsNote: 'What differs from most is orange',
  component: 'Component',
  unknown: 'unknown',
  matrix: 'Latency and bandwidth between nodes',
  matrixText:
    'The server does not measure latency and bandwidth between nodes yet, so there is no matrix here. The checks of a group really ask each node whether it finds and reaches the master; on a node one can also run:',
  toGroups: 'Check in a group',
};
