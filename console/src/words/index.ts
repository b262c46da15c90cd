import { en } from './en';
import { type Format, formatFor } from './format';
import { type Language, useLanguage } from './language';
import { type Words, zh } from './zh';

export type { Format, Text } from './format';
export { currentLanguage, type Language, speak } from './language';
export type { Words } from './zh';

type Spoken = Format & { w: Words; language: Language };

const SPOKEN: Record<Language, Spoken> = {
  'zh-CN': { ...formatFor('zh-CN'), w: zh, language: 'zh-CN' },
  en: { ...formatFor('en'), w: en, language: 'en' },
};

/** Words and formats of the chosen language: `const { w, say, duration } = useWords()`. */
export function useWords(): Spoken {
  return SPOKEN[useLanguage()];
}
