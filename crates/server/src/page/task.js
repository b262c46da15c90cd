// One task: where it stands, its ranks, why it failed, what happened, and what its ranks write.

import { get, post } from './api.js';
import { failure, h, loading, spark, swap, taskPill, toast, track } from './dom.js';
import { logView } from './logs.js';
import { bytes, say, span, w } from './words.js';

export function taskView(view, id) {
  const path = `/training-tasks/${encodeURIComponent(id)}`;
  const head = h('section');
  const body = h('section');
  const events = h('ul.events');
  const logs = logView(path);
  view.replaceChildren(h('a.crumb', { href: '/' }, w('back')), head, body,
    h('h2', {}, w('logs')), logs.element, h('h2', {}, w('events')), h('div.card.panel', {}, events));
  swap(head, loading(2));
  let busy = false;
  let begun = false;

  async function refresh() {
    if (busy) return;
    busy = true;
    try {
      const [task, ranks, metrics, told] = await Promise.all([
        get(path), get(`${path}/ranks`), get(`${path}/metrics?series=loss,tokensPerS&rank=0&maxPoints=200`), get(`${path}/events?pageSize=200`),
      ]);
      const isOver = ['succeeded', 'failed', 'stopped'].includes(task.status);
      const why = isOver ? null : task.reason;
      logs.setRanks(ranks.items);
      if (!begun) { begun = true; logs.start(); }
      draw(task, ranks.items, metrics.series, why);
      swap(events, [...told.items].reverse().map((event) =>
        h('li', {}, h('time', {}, new Date(event.time).toLocaleTimeString('en-GB')), h('span', {}, say(event.text)))));
    } catch (error) {
      swap(head, failure(error, w('failed'), w('retry'), refresh));
    }
    busy = false;
  }

  function draw(task, ranks, series, why) {
    const end = task.endedAt ?? Date.now();
    swap(head, h('div.head', {}, h('h1', {}, task.name), taskPill(task, say(task.statusText)),
      h('span.right'), ...task.allowedActions.filter(({ action }) => ['stop', 'restart'].includes(action)).map(button)),
    h('div.facts-line', {}, h('span.mono', {}, task.id), task.framework ? h('span', {}, task.framework) : null,
      task.attempt ? h('span', {}, w('attempt', { n: task.attempt })) : null,
      task.maxRestarts ? h('span', {}, w('restarts', { a: task.restartsUsed, b: task.maxRestarts })) : null,
      task.startedAt ? h('span', {}, `${w('time')} ${span(end - task.startedAt)}`) : null));
    for (const element of head.querySelectorAll('button[data-act]')) element.onclick = () => act(task, element.dataset.act);
    swap(body, why ? h('div.card.verdict.waits', {}, say(why)) : null, task.verdict?.class ? verdict(task.verdict) : null,
      h('div.split', {}, progress(task, series), crew(ranks)));
    for (const element of body.querySelectorAll('button[data-rank]')) {
      element.onclick = () => { logs.choose(Number(element.dataset.rank)); refresh(); };
    }
  }

  function button({ action, allowed, reason }) {
    return h('button', { type: 'button', 'data-act': action, class: action === 'stop' ? 'danger' : '', disabled: !allowed, title: say(reason) }, w(action));
  }

  async function act(task, action) {
    if (action === 'stop' && !window.confirm(w('confirmStop', { n: task.name }))) return;
    try {
      toast((await post(`${path}/${action}`)).message);
      if (action === 'restart') logs.start();
    } catch (error) {
      toast(error.hint ? `${error.message} · ${error.hint}` : error.message);
    }
    refresh();
  }

  function crew(ranks) {
    const nodes = Map.groupBy ? Map.groupBy(ranks, (rank) => rank.node) : grouped(ranks);
    return h('div.card.panel', {}, h('h3', {}, `${w('ranks')} ${ranks.length}`), h('div.ranks', {},
      [...nodes].map(([node, items]) => h('div.node', {}, h('b', {}, node), items.map((rank) => h('button.rank', {
        type: 'button', class: rank.state, 'data-rank': rank.rank, 'aria-pressed': String(logs.chosen() === rank.rank), title: about(rank),
      }, String(rank.rank)))))));
  }

  return { refresh, leave: logs.stop };
}

function grouped(ranks) {
  const nodes = new Map();
  for (const rank of ranks) nodes.set(rank.node, [...(nodes.get(rank.node) ?? []), rank]);
  return nodes;
}

function about(rank) {
  const parts = [`rank ${rank.rank}`, rank.worker, say(rank.stateText)];
  if (rank.pid) parts.push(`pid ${rank.pid}`);
  if (rank.cpus !== null) parts.push(`CPU ${rank.cpus.toFixed(2)}`);
  if (rank.memory !== null) parts.push(bytes(rank.memory));
  if (rank.exitText) parts.push(rank.exitText);
  return parts.join(' · ');
}

function progress(task, series) {
  const now = task.progress;
  const loss = series.find(({ name }) => name === 'loss')?.points.map((point) => point.value) ?? [];
  const share = now?.totalSteps ? now.step / now.totalSteps : task.status === 'succeeded' ? 1 : 0;
  const details = [now?.tokensPerS ? `${Math.round(now.tokensPerS).toLocaleString('en')} ${w('tokens')}` : null,
    now?.etaSeconds ? `${w('eta')} ${span(now.etaSeconds * 1000)}` : null].filter(Boolean).join(' · ');
  return h('div.card.panel', {}, h('h3', {}, w('progress')),
    h('div.big', {}, now ? String(now.step) : '–', h('small', {}, now?.totalSteps ? ` / ${now.totalSteps}` : '')),
    track(share), h('div.soft', {}, details || '\u00a0'),
    loss.length > 1 ? h('div', {}, h('h3', {}, `${w('loss')} ${loss[0].toFixed(3)} → ${loss.at(-1).toFixed(3)}`), spark(loss, 480, 64)) : null);
}

function verdict(end) {
  const rows = [['cause', end.cause], ['advice', end.advice], ['others', end.othersSummary]].filter(([, text]) => text);
  const lines = end.traceback.length ? end.traceback : end.evidence.slice(-12);
  return h('div.card.verdict', {}, h('h3', {}, say(end.headline)),
    rows.length ? h('dl', {}, rows.map(([key, text]) => [h('dt', {}, w(key)), h('dd', {}, say(text))])) : null,
    lines.length ? h('pre', {}, lines.join('\n')) : null);
}
