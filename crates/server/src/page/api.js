// The public API: the envelope is opened here, and streams are taken up again where they broke.

import { language, w } from './words.js';

const BASE = '/api/v1';

export class ApiError extends Error {
  constructor(code, message, hint) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

function headers(extra) {
  const token = sessionStorage.getItem('fermi.token');
  return { 'Accept-Language': language ? 'en' : 'zh-CN', 'Fermi-Front-End': 'console', ...(token ? { Authorization: `Bearer ${token}` } : {}), ...extra };
}

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(BASE + path, { ...options, headers: headers(options.headers) });
  } catch {
    throw new ApiError(0, w('offline'));
  }
  if (response.status === 401 && options.retry !== false && askForToken()) return ask(path, { ...options, retry: false });
  const body = await response.json().catch(() => null);
  if (!response.ok || !body) throw new ApiError(response.status, body?.message ?? `HTTP ${response.status}`, body?.error?.hint);
  return body;
}

function askForToken() {
  const token = window.prompt(w('token'));
  if (token) sessionStorage.setItem('fermi.token', token.trim());
  return Boolean(token);
}

export async function get(path) {
  return (await ask(path)).data;
}

/// Every wish has a key of its own, so that a repeated one is granted once.
export async function post(path, body = {}) {
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
  return ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key } });
}

/// Follows a stream until it is aborted. `hear` gets each event, `state` is told when the connection comes and goes.
export function follow(path, { hear, state = () => {}, signal, isOver = () => false }) {
  let cursor = null;
  let wait = 300;
  const once = async () => {
    const extra = { Accept: 'text/event-stream', ...(cursor ? { 'Last-Event-ID': cursor } : {}) };
    const response = await fetch(BASE + path, { headers: headers(extra), signal });
    if (!response.ok) throw new ApiError(response.status, `HTTP ${response.status}`);
    state('on');
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      wait = 300;
      text += value;
      let end;
      while ((end = text.indexOf('\n\n')) >= 0) {
        const event = parse(text.slice(0, end));
        text = text.slice(end + 2);
        if (event.id) cursor = event.id;
        if (event.data !== null) hear(event);
      }
    }
  };
  const forever = async () => {
    while (!signal.aborted) {
      try { await once(); } catch (error) { if (signal.aborted || (error.code >= 400 && error.code < 500)) return; }
      if (signal.aborted || isOver()) return;
      state('off');
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, 5000);
    }
  };
  forever();
}

function parse(block) {
  const event = { id: null, kind: 'message', data: null };
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    const field = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? '' : line.slice(at + 1).replace(/^ /, '');
    if (field === 'id') event.id = value;
    else if (field === 'event') event.kind = value;
    else if (field === 'data') event.data = event.data === null ? value : `${event.data}\n${value}`;
  }
  return event;
}
