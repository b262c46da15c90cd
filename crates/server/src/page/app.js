// The page: which view is shown, in which language and light, and the one stream that keeps it alive.

import { follow, get } from './api.js';
import { overview } from './overview.js';
import { taskView } from './task.js';
import { choose, firstLanguage, language, w } from './words.js';

const view = document.getElementById('view');
let current = null;
let due = null;

function route() {
  current?.leave?.();
  const match = location.pathname.match(/^\/training\/([^/]+)$/);
  current = match ? taskView(view, decodeURIComponent(match[1])) : overview(view);
  current.refresh();
}

function go(path) {
  if (path !== location.pathname) history.pushState(null, '', path);
  route();
  window.scrollTo(0, 0);
}
document.addEventListener('fermi-go', (event) => go(event.detail));

/// Events come in bursts; one look afterwards is enough.
function refreshSoon() {
  due ??= setTimeout(() => { due = null; current?.refresh(); glance(); }, 150);
}

async function glance() {
  try {
    const now = await get('/overview');
    const active = now.activeTasks.length;
    document.getElementById('glance').textContent =
      w('glance', { e: now.environments.total, f: now.workers.free, w: now.workers.total, t: active });
  } catch { /* the views say what is wrong */ }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.getElementById('theme').textContent = theme === 'dark' ? '☀' : '☾';
}

function speak(tag) {
  choose(tag);
  document.getElementById('language').textContent = language ? '中' : 'EN';
  document.title = language ? 'Fermi' : 'Fermi · 训练集群';
}

document.getElementById('theme').addEventListener('click', () => {
  const theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  localStorage.setItem('fermi.theme', theme);
  setTheme(theme);
});
document.getElementById('language').addEventListener('click', () => {
  const tag = language ? 'zh-CN' : 'en';
  localStorage.setItem('fermi.language', tag);
  speak(tag);
  live(document.getElementById('live').dataset.state ?? 'off');
  glance();
  route();
});

function live(state) {
  const element = document.getElementById('live');
  element.dataset.state = state;
  element.textContent = state === 'on' ? w('live') : w('offline');
}

const dark = matchMedia('(prefers-color-scheme: dark)').matches;
setTheme(localStorage.getItem('fermi.theme') ?? (dark ? 'dark' : 'light'));
speak(firstLanguage());
window.addEventListener('popstate', route);
// Links within the page change the view without loading it again.
document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href^="/"]');
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  go(link.getAttribute('href'));
});
document.addEventListener('visibilitychange', () => { if (!document.hidden) refreshSoon(); });
route();
glance();
follow('/events', {
  hear: refreshSoon,
  state: (state) => { live(state); if (state === 'on') refreshSoon(); },
  signal: new AbortController().signal,
});
// Samples of machines and progress of trainings are no events; a light look now and then brings them.
setInterval(() => { if (!document.hidden) current?.refresh(); }, 2000);
setInterval(() => current?.tick?.(), 1000);
