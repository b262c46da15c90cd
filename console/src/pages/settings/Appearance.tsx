import { Choice } from '~/ui/Choice';
import { setTheme, type Theme, useTheme } from '~/ui/theme';
import { type Language, speak, useWords } from '~/words';

const LANGUAGES: { value: Language; label: string }[] = [
  { value: 'zh-CN', label: '中文' },
  { value: 'en', label: 'English' },
];

export function Appearance() {
  const { w, language } = useWords();
  const theme = useTheme();
  const themes: { value: Theme; label: string }[] = [
    { value: 'light', label: w.settings.light },
    { value: 'dark', label: w.settings.dark },
    { value: 'system', label: w.settings.system },
  ];
  return (
    <div className="flex flex-col gap-4">
      <Choice label={w.settings.language} value={language} options={LANGUAGES} onChange={speak} />
      <Choice label={w.settings.theme} value={theme} options={themes} onChange={setTheme} />
    </div>
  );
}
