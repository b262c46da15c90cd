import type { Language } from './language';

/** A sentence in both languages, as the API gives it. */
export type Text = { 'zh-CN': string; en: string };

export type Format = ReturnType<typeof formatFor>;

const UNITS: Record<Language, [string, string, string, string]> = {
  'zh-CN': ['天', '小时', '分', '秒'],
  en: ['d', 'h', 'min', 's'],
};
const SIZES = ['B', 'KB', 'MB', 'GB', 'TB'];

const DAY = 86_400_000;

/** Words with which a sentence of the API begins that does not begin with a name. */
const OPENERS = new Set(
  'a all an another as at attempt before by each every for held if in it its kept no nobody nothing on once one out passed somebody starts takes the then there this to too until waits what when with without would'.split(
    ' ',
  ),
);

/** A sentence with a capital letter, unless it begins with a name: names are shown as they were given. */
export function sentence(text: string): string {
  return OPENERS.has(text.split(' ', 1)[0] ?? '') ? capital(text) : text;
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** How numbers, times and sizes are written in a language. */
export function formatFor(language: Language) {
  const whole = new Intl.NumberFormat(language);
  const clock = new Intl.DateTimeFormat(language, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hour12: false,
  });
  const date = new Intl.DateTimeFormat(language, {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hour12: false,
  });
  const day = new Intl.DateTimeFormat(language, {
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hour12: false,
  });
  const space = language === 'en' ? ' ' : '';

  const duration = (ms: number): string => {
    const units = UNITS[language];
    const s = Math.max(0, Math.floor(ms / 1000));
    const parts = [Math.floor(s / 86_400), Math.floor(s / 3_600) % 24, Math.floor(s / 60) % 60, s % 60];
    const first = parts.findIndex((part) => part > 0);
    if (first < 0) return `${ms > 0 ? '<1' : '0'}${space}${units[3]}`;
    const write = (at: number) => `${parts[at]}${space}${units[at]}`;
    const second = first < 3 && (parts[first + 1] ?? 0) > 0 ? `${space}${write(first + 1)}` : '';
    return `${write(first)}${second}`;
  };

  return {
    number: (value: number) => whole.format(value),
    /** A measured value: four figures are enough. */
    value: (value: number) => {
      const size = Math.abs(value);
      if (size !== 0 && (size < 0.001 || size >= 1e7)) return value.toExponential(2);
      return size >= 1000 ? whole.format(Math.round(value)) : String(Number(value.toPrecision(4)));
    },
    percent: (share: number) => (share > 0 && share < 0.005 ? '<1%' : `${Math.round(share * 100)}%`),
    /** `5天3小时`, `2 min 5 s`: the two largest units. */
    duration,
    /** How long ago, such as `5分前`. */
    ago: (time: number, now: number) => {
      if (now - time < 3_000) return language === 'en' ? 'just now' : '刚刚';
      const units = UNITS[language];
      const s = Math.floor((now - time) / 1000);
      const [count, unit] =
        s >= 86_400
          ? [s / 86_400, units[0]]
          : s >= 3_600
            ? [s / 3_600, units[1]]
            : s >= 60
              ? [s / 60, units[2]]
              : [s, units[3]];
      const span = `${Math.floor(count)}${space}${unit}`;
      return language === 'en' ? `${span} ago` : `${span}${unit === units[2] ? '钟' : ''}前`;
    },
    bytes: (count: number) => {
      let [value, unit] = [count, 0];
      while (value >= 1024 && unit < SIZES.length - 1) {
        value /= 1024;
        unit += 1;
      }
      return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${SIZES[unit]}`;
    },
    clock: (time: number) => clock.format(time),
    date: (time: number) => date.format(time),
    /** A time on an axis: with its day where days are in sight. */
    clockWithin: (time: number, span: number) => (span < DAY ? clock : day).format(time),
    /** Words of the API, as they are. */
    say: (text: Text | null | undefined) => (text ? text[language] : ''),
    /** A sentence of the API that stands alone. */
    tell: (text: Text | null | undefined) => (text ? sentence(text[language]) : ''),
    /** What the API says is to be done: it begins with a verb, not with a name. */
    advise: (text: Text | null | undefined) => (text ? text[language].replace(/^[a-z]+(?= )/, capital) : ''),
  };
}
