import type { Words } from '../zh';

export const datasets: Words['datasets'] = {
  title: 'Datasets',
  create: 'New dataset',
  search: 'Search datasets',
  versions: 'Versions',
  addVersion: 'Add version',
  addVersionTo: (name) => `Add a version to ${name}`,
  versionName: 'Version',
  pathHint: 'A path that every node can read, such as /data/corpus/v1',
  firstVersion: 'First version (optional)',
  created: 'The dataset was created',
  versionAdded: 'The version was added',
  delete: 'Delete the dataset',
  deleteText: (name) => `Delete the dataset ${name}? The files of its versions stay where they are.`,
  deleted: 'The dataset was deleted',
  empty: 'No datasets yet',
  emptyHint: 'Create one, or run this in a terminal:',
  noVersions: 'No versions yet',
};
