// Environments by zone, and the tasks.

import { get } from './api.js';
import { empty, failure, h, loading, meter, spark, swap, taskPill, track } from './dom.js';
import { bytes, say, span, w } from './words.js';

const MOST_DRAWN = 12;

export function overview(view) {
  const environments = h('section');
  const tasks = h('section');
  const count = h('small');
  view.replaceChildren(h('h2', {}, w('environments'), count), environments, h('h2', {}, w('tasks')), tasks);
  swap(environments, loading(3));
  swap(tasks, loading(4));
  const known = { names: {}, lines: new Map(), progress: new Map(), heard: [] };
  let busy = false;

  async function refresh() {
    if (busy) return;
    busy = true;
    await Promise.all([showEnvironments(), showTasks()]);
    busy = false;
  }

  async function showEnvironments() {
    try {
      const { items } = await get('/environments?pageSize=1000');
      known.names = Object.fromEntries(items.map((environment) => [environment.id, environment.name]));
      known.heard = items.map(({ id, heartbeatAgeMs }) => ({ id, at: heartbeatAgeMs === null ? null : Date.now() - heartbeatAgeMs }));
      count.textContent = items.length ? String(items.length) : '';
      if (!items.length) {
        swap(environments, empty(w('noEnvironments'), w('noEnvironmentsHint'),
          `fermi agent --server ${location.origin} --name my-env --zone 北京可用区A --workers 2`));
        return;
      }
      swap(environments, h('div.zones', {}, byZone(items).map(card)));
      tick();
    } catch (error) {
      swap(environments, failure(error, w('failed'), w('retry'), refresh));
    }
  }

  async function showTasks() {
    try {
      const { items } = await get('/training-tasks?pageSize=50');
      if (!items.length) {
        const name = Object.values(known.names)[0] ?? 'my-env';
        swap(tasks, empty(w('noTasks'), w('noTasksHint'), `fermi task create --name hello --env ${name} --follow -- sh -c 'echo hello from rank $RANK'`));
        return;
      }
      await Promise.all(items.slice(0, MOST_DRAWN).map(look));
      swap(tasks, table(items));
      for (const row of tasks.querySelectorAll('tr[data-id]')) {
        row.onclick = (event) => {
          if (event.target.closest('a')) return;
          document.dispatchEvent(new CustomEvent('fermi-go', { detail: `/training/${encodeURIComponent(row.dataset.id)}` }));
        };
      }
    } catch (error) {
      swap(tasks, failure(error, w('failed'), w('retry'), refresh));
    }
  }

  /// Progress and loss of one task; of one that is over they are asked for once.
  async function look(task) {
    const isOver = ['succeeded', 'failed', 'stopped'].includes(task.status);
    const key = `${task.status}:${task.attempt}`;
    if (isOver && known.progress.get(task.id)?.key === key) return;
    try {
      const [whole, metrics] = await Promise.all([
        get(`/training-tasks/${task.id}`), get(`/training-tasks/${task.id}/metrics?series=loss&rank=0&maxPoints=60`),
      ]);
      known.progress.set(task.id, { key, progress: whole.progress });
      known.lines.set(task.id, metrics.series[0]?.points.map((point) => point.value) ?? []);
    } catch { /* the row is shown without it */ }
  }

  function table(items) {
    const head = [['name'], ['status'], ['progress', 'hide'], ['loss', 'hide'], ['ranks', 'num hide'], ['created', 'hide'], ['time', 'num']];
    return h('div.card.scroll', {}, h('table', {},
      h('thead', {}, h('tr', {}, head.map(([key, tone]) => h('th', { class: tone }, w(key))))),
      h('tbody', {}, items.map(row))));
  }

  function row(task) {
    const progress = known.progress.get(task.id)?.progress;
    const share = progress?.totalSteps ? progress.step / progress.totalSteps : 0;
    const end = task.endedAt ?? Date.now();
    const where = task.environments.map((id) => known.names[id] ?? id).join(' · ');
    const line = known.lines.get(task.id) ?? [];
    return h('tr.link', { 'data-id': task.id },
      h('td', {}, h('a.name', { href: `/training/${encodeURIComponent(task.id)}` }, task.name), h('span.soft', {}, where)),
      h('td', {}, taskPill(task, say(task.statusText))),
      h('td.hide', {}, progress ? h('div.progress', {}, track(share), `${progress.step}/${progress.totalSteps ?? '?'}`) : null),
      h('td.hide', {}, line.length > 1 ? h('div.progress', {}, spark(line), progress?.loss?.toFixed(3) ?? '') : null),
      h('td.num.hide', {}, task.worldSize || '–'),
      h('td.hide.soft', {}, ago(task.createdAt)),
      h('td.num', {}, task.startedAt ? span(end - task.startedAt) : '–'));
  }

  function tick() {
    for (const { id, at } of known.heard) {
      const element = environments.querySelector(`[data-heard="${CSS.escape(id)}"]`);
      if (element) element.textContent = `${w('heard')} ${at === null ? w('never') : Date.now() - at < 3000 ? w('now') : ago(at)}`;
    }
  }

  return { refresh, tick };
}

function ago(time) {
  return `${span(Date.now() - time)}${w('ago')}`;
}

function byZone(items) {
  return [...items].sort((a, b) => (a.zone ?? '').localeCompare(b.zone ?? '', 'zh-CN') || a.name.localeCompare(b.name));
}

const TONES = { running: 'good', busy: 'on', suspect: 'busy', offline: 'bad' };

function card(environment) {
  const { machine } = environment;
  const gpus = environment.gpus.map((gpu) => `${gpu.count}x ${gpu.model}`).join(', ');
  const since = environment.upSince ? span(Date.now() - environment.upSince).replace(/(\d+分|\d+ min)?\d+( s|秒)$/, '$1') : '';
  return h('article.card.env', { class: environment.status === 'offline' ? 'off' : '' },
    h('header', {}, h('strong', {}, environment.name), h('span.pill.outline', {}, say(environment.kindText)),
      h('span.pill.right', { class: TONES[environment.status] }, say(environment.statusText))),
    h('div.facts', {}, h('span', {}, environment.zone ?? w('noZone')), environment.image ? h('span', {}, environment.image) : null,
      gpus ? h('span', {}, gpus) : h('span', {}, `${environment.cpuCores} ${w('cores')} · ${environment.memory} GB`),
      environment.declared ? h('span.pill', {}, w('declared')) : null, since ? h('span', {}, `${w('up')} ${since}`) : null),
    machine ? meter('CPU', machine.cpu, `${Math.round(machine.cpu * 100)} %`) : null,
    machine ? meter(w('memory'), machine.memoryUsed / (machine.memoryTotal || 1), `${bytes(machine.memoryUsed)} / ${environment.memory} GB`) : null,
    environment.gpuSamples.map((gpu) => meter(`GPU ${gpu.index}`, gpu.useShare, `${Math.round(gpu.useShare * 100)} % · ${bytes(gpu.memoryUsed)}`)),
    h('div.workers', {}, environment.workers.map((worker) => worker.taskId
      ? h('a.worker.held', { href: `/training/${encodeURIComponent(worker.taskId)}`, title: worker.taskId }, worker.id)
      : h('span.worker', { title: w('free') }, worker.id))),
    h('div.soft', { 'data-heard': environment.id }, w('heard')));
}
