// What all ranks write, as it comes: followed, filtered by rank, searched.

import { follow, get } from './api.js';
import { h } from './dom.js';
import { w } from './words.js';

/// Lines that are kept, and that are drawn.
const MOST = 20000;
const DRAWN = 1500;

export function logView(path) {
  const list = h('div.log', { tabindex: '0', role: 'log', 'aria-label': w('logs') });
  const search = h('input', { type: 'search', placeholder: w('search'), 'aria-label': w('search') });
  const rank = h('select', { 'aria-label': w('ranks') }, h('option', { value: '' }, w('all')));
  const stay = h('input', { type: 'checkbox', checked: true });
  const count = h('span.soft.right');
  const element = h('div.card', {}, h('div.tools', {}, rank, search, h('label', {}, stay, ` ${w('follow')}`), count), list);
  let lines = [];
  let rests = new Map();
  let names = {};
  let found = null;
  let stream = null;
  let due = null;

  function start() {
    stop();
    stream = new AbortController();
    lines = [];
    rests = new Map();
    draw();
    let ended = false;
    follow(`${path}/logs`, {
      hear: ({ kind, data }) => { if (kind === 'end') ended = true; else take(JSON.parse(data)); },
      signal: stream.signal,
      isOver: () => ended,
    });
  }

  function stop() {
    stream?.abort();
  }

  /// Pieces end where the server read to, not where lines do.
  function take(piece) {
    const key = `${piece.attempt}.${piece.rank}.${piece.stream}`;
    const parts = ((rests.get(key) ?? '') + piece.text).split('\n');
    rests.set(key, parts.pop());
    for (const text of parts) {
      // Of a bar that rewrites itself only the last state is a line.
      lines.push({ rank: piece.rank, stream: piece.stream, text: plain(text.split('\r').filter(Boolean).at(-1) ?? '') });
    }
    if (lines.length > MOST) lines = lines.slice(-MOST);
    due ??= requestAnimationFrame(() => { due = null; draw(); });
  }

  async function look() {
    const text = search.value.trim();
    found = null;
    if (text) {
      try {
        found = { text, items: (await get(`${path}/logs/search?limit=1000&ignoreCase=true&query=${encodeURIComponent(text)}`)).items };
      } catch {
        found = { text, items: lines.filter((line) => line.text.toLowerCase().includes(text.toLowerCase())) };
      }
    }
    draw();
  }

  function draw() {
    const wanted = (line) => rank.value === '' || line.rank === Number(rank.value);
    const shown = (found?.items ?? lines).filter(wanted);
    count.textContent = w('lines', { n: shown.length.toLocaleString('en') });
    if (!shown.length) {
      list.replaceChildren(h('div.soft', {}, found ? w('noMatch') : w('noLogs')));
      return;
    }
    const cut = shown.length > DRAWN ? [h('div.soft', {}, `… ${w('hidden')}`)] : [];
    list.replaceChildren(...cut, ...shown.slice(-DRAWN).map(row));
    if (stay.checked && !found) list.scrollTop = list.scrollHeight;
  }

  function row(line) {
    const who = h('span.who', {}, `${names[line.rank] ?? 'rank'}:${line.rank}`);
    who.style.color = `hsl(${(line.rank * 67 + 215) % 360} 55% 52%)`;
    return h('div', {}, who, h('span', { class: line.stream === 'stderr' ? 'err' : '' }, found ? marked(plain(line.text), found.text) : line.text));
  }

  list.addEventListener('scroll', () => {
    if (list.scrollTop + list.clientHeight < list.scrollHeight - 60) stay.checked = false;
  });
  stay.addEventListener('change', draw);
  rank.addEventListener('change', draw);
  let typing = null;
  search.addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(look, 250); });

  return {
    element,
    start,
    stop,
    chosen: () => (rank.value === '' ? null : Number(rank.value)),
    choose(number) {
      rank.value = rank.value === String(number) ? '' : String(number);
      draw();
    },
    setRanks(ranks) {
      const fresh = Object.fromEntries(ranks.map((one) => [one.rank, one.node]));
      if (JSON.stringify(fresh) === JSON.stringify(names)) return;
      names = fresh;
      const kept = rank.value;
      rank.replaceChildren(h('option', { value: '' }, w('all')), ...ranks.map((one) => h('option', { value: String(one.rank) }, `${one.node}:${one.rank}`)));
      rank.value = kept;
      draw();
    },
  };
}

/// Colours of terminals mean nothing here.
function plain(text) {
  return text.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '');
}

function marked(text, wanted) {
  const parts = [];
  const low = text.toLowerCase(), part = wanted.toLowerCase();
  let from = 0;
  for (let at = low.indexOf(part); at >= 0; at = low.indexOf(part, from)) {
    parts.push(text.slice(from, at), h('mark', {}, text.slice(at, at + part.length)));
    from = at + part.length;
  }
  return [...parts, text.slice(from)];
}
