// No machine here runs thousands of ranks: the answers about them are made, the page that draws them is real.

const STATES = ['running', 'running', 'running', 'running', 'running', 'running', 'failed'];
const NAMES = ['loss', 'tokensPerS', 'stepTimeS', 'rank.memory'];
const BEGIN = 1_790_000_000_000;

const enveloped = (data: unknown) => Buffer.from(JSON.stringify({ code: 200, message: '', data }));

const ranksOf = (count: number) =>
  Array.from({ length: count }, (_, rank) => ({
    rank,
    localRank: rank % 8,
    nodeRank: Math.floor(rank / 8),
    node: `gn${Math.floor(rank / 8)}`,
    environment: `env-${Math.floor(rank / 8)}`,
    worker: `gn${Math.floor(rank / 8)}-${rank % 8}`,
    attempt: 1,
    state: STATES[rank % STATES.length],
    stateText: { 'zh-CN': '运行中', en: 'running' },
    pid: 1_000 + rank,
    step: 120 + (rank % 3),
    cpus: 1.25,
    memory: 61_000_000_000 + rank,
  }));

function metricsOf(count: number, query: URLSearchParams) {
  const points = Number(query.get('maxPoints') ?? 500);
  const ranks = query.has('rank') ? 1 : count;
  const names = query.get('series')?.split(',') ?? NAMES;
  return names.flatMap((name) =>
    Array.from({ length: ranks }, (_, rank) => ({
      name,
      rank,
      points: Array.from({ length: points }, (_, at) => {
        const value = 0.5 + (rank % 97) / 400 + (at % 13) / 300;
        return { time: BEGIN + at * 5_000, step: at, value, min: value, max: value };
      }),
    })),
  );
}

const lastLinesOf = (count: number) =>
  Array.from({ length: count }, (_, rank) => ({
    rank,
    stream: 'stdout',
    offset: 0,
    text: `step 120/3000 loss 1.2345 rank ${rank}\n`,
  }));

/** Answers about a task as if it had so many ranks. What is asked for twice is made once. */
export function answersOf(task: { id: string }, count: number): (path: string) => Buffer | null {
  const kept = new Map<string, Buffer>();
  const make = (path: string): Buffer | null => {
    const { pathname, searchParams } = new URL(path, 'http://console');
    const asked = pathname.split(`/training-tasks/${task.id}`)[1];
    if (asked === '') return enveloped({ ...task, worldSize: count });
    if (asked === '/ranks') return enveloped({ items: ranksOf(count), nextPageToken: null, total: count });
    if (asked === '/metrics') return enveloped({ series: metricsOf(count, searchParams) });
    if (asked === '/logs' && searchParams.get('tail') === '1') return enveloped({ chunks: lastLinesOf(count) });
    return null;
  };
  return (path) => {
    const made = path.startsWith('/api/') ? (kept.get(path) ?? make(path)) : null;
    if (made) kept.set(path, made);
    return made;
  };
}
