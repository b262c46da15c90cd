// The page's own words, Chinese first. What the server says comes in both languages already.

const WORDS = {
  environments: ['开发环境', 'Environments'],
  tasks: ['训练任务', 'Training tasks'],
  live: ['实时', 'live'],
  offline: ['连接中断，正在重连', 'reconnecting'],
  connecting: ['连接中', 'connecting'],
  noZone: ['未指定可用区', 'no zone'],
  cores: ['核', 'cores'],
  memory: ['内存', 'Memory'],
  heard: ['心跳', 'heard'],
  ago: ['前', ' ago'],
  never: ['从未', 'never'],
  now: ['刚刚', 'just now'],
  up: ['已运行', 'up'],
  declared: ['声明值', 'declared'],
  free: ['空闲', 'free'],
  noEnvironments: ['还没有开发环境', 'No environments yet'],
  noEnvironmentsHint: ['在任意一台机器上运行，它就会出现在这里：', 'Run this on any machine and it appears here:'],
  noTasks: ['还没有训练任务', 'No tasks yet'],
  noTasksHint: ['创建一个：', 'Create one:'],
  failed: ['加载失败', 'This could not be loaded'],
  retry: ['重试', 'Try again'],
  name: ['名称', 'Name'],
  status: ['状态', 'Status'],
  progress: ['进度', 'Progress'],
  loss: ['损失', 'Loss'],
  ranks: ['进程', 'Ranks'],
  created: ['创建', 'Created'],
  time: ['用时', 'Time'],
  stop: ['停止', 'Stop'],
  restart: ['重启', 'Restart'],
  logs: ['日志', 'Logs'],
  events: ['事件', 'Events'],
  follow: ['跟随', 'Follow'],
  all: ['全部', 'All'],
  search: ['搜索日志', 'Search the logs'],
  noLogs: ['还没有输出', 'Nothing was written yet'],
  noMatch: ['没有匹配的行', 'No line matches'],
  cause: ['原因', 'Cause'],
  advice: ['建议', 'Advice'],
  others: ['其他', 'Others'],
  waiting: ['等待', 'Waits'],
  attempt: ['第 {n} 次启动', 'attempt {n}'],
  restarts: ['重启 {a}/{b}', '{a} of {b} restarts'],
  back: ['← 全部任务', '← all tasks'],
  tokens: ['词元/秒', 'tokens/s'],
  eta: ['剩余', 'left'],
  glance: ['{e} 个环境 · {f}/{w} 个 Worker 空闲 · {t} 个任务进行中', '{e} environments · {f}/{w} workers free · {t} tasks active'],
  confirmStop: ['停止任务 {n}？', 'Stop {n}?'],
  token: ['此服务器需要令牌：', 'This server needs a token:'],
  lines: ['{n} 行', '{n} lines'],
  hidden: ['较早的行未显示', 'earlier lines are not shown'],
};

export let language = 0;

export function choose(tag) {
  language = tag === 'en' ? 1 : 0;
  document.documentElement.lang = language ? 'en' : 'zh-CN';
}

export function firstLanguage() {
  const kept = localStorage.getItem('fermi.language');
  return kept ?? (navigator.language.toLowerCase().startsWith('zh') || !navigator.language ? 'zh-CN' : 'en');
}

/// A word of the page.
export function w(key, values = {}) {
  const text = WORDS[key]?.[language] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');
}

/// A sentence of the server.
export function say(text) {
  return text ? (language ? text.en : text['zh-CN']) : '';
}

export function span(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  const units = language ? [' d', ' h', ' min', ' s'] : ['天', '小时', '分', '秒'];
  const parts = [Math.floor(s / 86400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60, s % 60];
  const first = parts.findIndex((part) => part > 0);
  if (first < 0) return `${(Math.max(0, ms) / 1000).toFixed(1)}${units[3]}`;
  const second = first < 3 && parts[first + 1] > 0 ? `${language ? ' ' : ''}${parts[first + 1]}${units[first + 1]}` : '';
  return `${parts[first]}${units[first]}${second}`;
}

export function bytes(count) {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (count >= 1024 && unit < 4) { count /= 1024; unit += 1; }
  return `${count >= 100 || unit === 0 ? Math.round(count) : count.toFixed(1)} ${units[unit]}`;
}
