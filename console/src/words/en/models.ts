import type { Words } from '../zh';

export const models: Words['models'] = {
  title: 'Models',
  create: 'Register a model',
  search: 'Search models',
  nameHint: "With a name of the planner's catalogue, such as llama2-7b, new tasks get advice on memory and strategy",
  pathHint: 'A path that every node can read, such as /models/llama2-7b',
  created: 'The model was registered',
  delete: 'Delete the model',
  deleteText: (name) => `Delete the model ${name}? Its files stay where they are.`,
  deleted: 'The model was deleted',
  empty: 'No models yet',
  emptyHint: 'Register one, or run this in a terminal:',
  noVersions: 'Models have no versions yet: each entry is one path.',
};
