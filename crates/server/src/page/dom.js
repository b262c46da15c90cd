// Small helpers that draw. Text always goes in as text, never as markup.

export function h(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const element = document.createElement(name || 'div');
  if (classes.length) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'class') element.className += ` ${value}`;
    else if (key === 'value') element.value = value;
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/// A bar that is filled by a share; a high one is shown as such where that matters.
export function track(share, warns = false) {
  const fill = h('i');
  const width = Math.min(1, Math.max(0, share || 0));
  fill.style.width = `${(width * 100).toFixed(1)}%`;
  if (warns && width > 0.9) fill.className = 'hot';
  return h('div.track', {}, fill);
}

export function meter(label, share, text) {
  return h('div.meter', {}, h('span', {}, label), track(share, true), h('span', {}, text));
}

/// A line of values without axes.
export function spark(values, width = 110, height = 26) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'spark');
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('height', height);
  svg.setAttribute('width', width === 110 ? width : '100%');
  svg.setAttribute('aria-hidden', 'true');
  const real = values.filter(Number.isFinite);
  if (real.length < 2) return svg;
  const low = Math.min(...real), high = Math.max(...real), reach = high - low || 1;
  const x = (at) => ((at / (real.length - 1)) * width).toFixed(1);
  const y = (value) => (height - 2 - ((value - low) / reach) * (height - 4)).toFixed(1);
  const line = real.map((value, at) => `${at ? 'L' : 'M'}${x(at)} ${y(value)}`).join('');
  for (const [d, name] of [[`${line}L${width} ${height}L0 ${height}Z`, 'area'], [line, 'line']]) {
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('d', d);
    path.setAttribute('class', name);
    svg.append(path);
  }
  return svg;
}

export function loading(rows = 3) {
  return h('div.card', { 'aria-busy': 'true' }, Array.from({ length: rows }, () => h('div.bone')));
}

export function empty(title, hint, command) {
  return h('div.card.state', {}, h('h3', {}, title), hint, command ? h('code', {}, command) : null);
}

export function failure(error, title, retryWord, retry) {
  return h('div.card.state', {}, h('h3', {}, title), h('div', {}, error.message), error.hint ? h('div.soft', {}, error.hint) : null,
    h('button', { type: 'button', onclick: retry }, retryWord));
}

export function toast(text) {
  const element = h('div.toast', { role: 'alert' }, text);
  document.getElementById('toasts').append(element);
  setTimeout(() => element.remove(), 5000);
}

const TONES = {
  running: 'on', succeeded: 'good', failed: 'bad', stopped: '', queued: 'busy', initializing: 'busy', starting: 'busy',
  restarting: 'busy', stopping: 'busy',
};

export function taskPill(task, text) {
  return h('span.pill', { class: TONES[task.status] ?? '' }, text);
}

/// Replaces what is shown only when it differs, so that scrolling and focus survive a refresh.
export function swap(place, ...children) {
  const fresh = h('div', {}, ...children);
  if (place.innerHTML !== fresh.innerHTML) place.replaceChildren(...fresh.childNodes);
}
