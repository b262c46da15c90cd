// The pictures of the documents: `docs/images/console-<name>.<language>.webp`, every page in both languages.
import type { Page } from 'playwright-core';
import type { Words } from '../src/words/zh';
import { api, training, until } from './fermi';
import { FAILED_PATH, TASK_PATH } from './pages';

export type Picture = {
  name: string;
  path: string;
  height: number;
  width?: number;
  theme?: 'dark';
  /** What a person does before all of the page has something to say. */
  act?: (page: Page, w: Words) => Promise<void>;
};

type Prepared = { preflight: string; env: string; compared: string[] };

/** What no page has of itself: a group, accounts, whom to tell, a preflight, trainings to compare. Returns what is named by them. */
export async function prepare(server: string): Promise<Prepared> {
  await api(server, '/groups', {
    name: 'llm-pretrain',
    workers: ['gn6', 'gn7'].flatMap((node) => [0, 1, 2, 3].map((index) => `${node}-${index}`)),
    config: { masterAddr: 'gn6', worldSize: 6 },
  });
  for (const [name, role] of Object.entries({ ann: 'administrator', bo: 'member', chen: 'operator', dana: 'viewer' }))
    await api(server, '/users', { name, role, password: 'correct horse' });
  await api(server, '/tokens', { name: 'nightly', role: 'member' });
  await api(server, '/tokens', { name: 'gn8', scope: 'agent', uses: 4, zone: '北京可用区B', labels: { team: 'nlp' } });
  await api(server, '/secrets', { name: 'HF_TOKEN', value: 'hidden', shared: true });
  await api(server, '/secrets', { name: 'WANDB_API_KEY', value: 'hidden' });
  const chat = { name: 'llm-team', url: 'https://open.feishu.cn/open-apis/bot/v2/hook/example' };
  await api(server, '/webhooks', { ...chat, topics: ['failed', 'waiting'] });
  const { items } = await api<{ items: { id: string; name: string }[] }>(server, '/environments');
  const id = (name: string) => items.find((one) => one.name === name)?.id ?? '';
  const compared: string[] = [];
  // On machines of `fermi up`, which ends them: what runs on others outlives their agents.
  const lab = id('nlp-research-lab');
  for (const [worker, [name, floor]] of [['gpt-lr-3e-4', 1.9] as const, ['gpt-lr-1e-3', 2.6] as const].entries()) {
    const { taskId } = await api<{ taskId: string }>(server, '/training-tasks', {
      taskName: name,
      distributedConfig: { nodeIds: [lab], framework: 'command', workers: { [lab]: [worker] } },
      command: { argv: ['sh', '-c', training(floor)] },
    });
    compared.push(taskId);
  }
  const nodes = ['pytorch-dev-env', 'llm-training-env', 'gn6', 'gn7'];
  const preflight = await api<{ id: string }>(server, '/preflights', { environments: nodes, python: false });
  await until('the preflight', async () => {
    const { endedAt } = await api<{ endedAt: number | null }>(server, `/preflights/${preflight.id}`);
    return endedAt === null ? null : true;
  });
  return { preflight: preflight.id, env: nodes.map(id).join(','), compared };
}

async function fillCreate(page: Page, w: Words) {
  await page.getByLabel(w.create.name).fill('llama2-7b-sft');
  for (const [field, option] of [
    [w.create.dataset, /wikitext-103/],
    [w.create.model, /llama2-7b/],
  ] as const) {
    await page.getByLabel(field).first().click();
    await page.getByRole('option', { name: option }).first().click();
  }
  await page.getByLabel(w.create.command, { exact: true }).fill('python train.py --config sft.yaml');
  await page.getByRole('heading', { level: 1 }).click();
}

const searchLogs = async (page: Page, w: Words) => {
  await page.getByLabel(w.logs.search).fill('step 6');
  await page
    .getByRole('status')
    .filter({ hasText: /^– .*\d/ })
    .waitFor();
  await page.getByLabel(w.logs.next).click();
};

const openConfig = async (page: Page, w: Words) => {
  await page.getByRole('button', { name: w.groups.config }).first().click();
  await page.getByRole('dialog').waitFor();
};

const PLANNED = '/planner?model=model-001&env=env-004,env-005';

/** Every page, most of them as they are when one opens them. */
export const picturesOf = ({ preflight, env, compared }: Prepared): Picture[] => [
  { name: 'overview', path: '/', height: 800 },
  { name: 'overview-dark', path: '/', height: 800, theme: 'dark' },
  { name: 'training', path: '/training', height: 600 },
  { name: 'compare', path: `/training?compare=${['task-2', ...compared].join(',')}`, height: 600 },
  { name: 'create', path: '/training/create?env=env-004,env-005', height: 940, act: fillCreate },
  { name: 'create-auto', path: '/training/create?mode=auto', height: 820, act: fillCreate },
  { name: 'task', path: FAILED_PATH, height: 860 },
  { name: 'task-dark', path: FAILED_PATH, height: 860, theme: 'dark' },
  { name: 'running', path: TASK_PATH, height: 940 },
  { name: 'phone', path: TASK_PATH, height: 844, width: 390 },
  { name: 'logs', path: `${TASK_PATH}?tab=logs`, height: 780, act: searchLogs },
  { name: 'metrics', path: `${TASK_PATH}?tab=metrics`, height: 1_080 },
  { name: 'metrics-dark', path: `${TASK_PATH}?tab=metrics`, height: 1_080, theme: 'dark' },
  { name: 'events', path: `${FAILED_PATH}?tab=events`, height: 780 },
  { name: 'ranks', path: `${TASK_PATH}?tab=ranks`, height: 660 },
  { name: 'launch', path: `${TASK_PATH}?tab=launch`, height: 860 },
  { name: 'diagnosis', path: `${FAILED_PATH}?tab=diagnosis`, height: 860 },
  { name: 'environments', path: '/environments', height: 580 },
  { name: 'environment', path: '/environments?env=env-001', height: 780 },
  { name: 'groups', path: '/groups', height: 860 },
  { name: 'groups-config', path: '/groups', height: 700, act: openConfig },
  { name: 'planner', path: PLANNED, height: 900 },
  { name: 'layouts', path: `${PLANNED}&show=layouts`, height: 900 },
  { name: 'preflight', path: `/preflight?env=${env}&id=${preflight}`, height: 940 },
  { name: 'datasets', path: '/datasets', height: 420 },
  { name: 'models', path: '/models', height: 360 },
  { name: 'settings', path: '/settings', height: 900 },
  { name: 'users', path: '/settings?tab=users', height: 440 },
  { name: 'tokens', path: '/settings?tab=tokens', height: 400 },
  { name: 'join', path: '/settings?tab=join', height: 380 },
  { name: 'secrets', path: '/settings?tab=secrets', height: 380 },
  { name: 'webhooks', path: '/settings?tab=webhooks', height: 340 },
  { name: 'audit', path: '/settings?tab=audit', height: 620 },
];
