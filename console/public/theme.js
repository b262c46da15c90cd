// Sets theme and language before the first paint, so that nothing flashes.
(() => {
  const root = document.documentElement;
  const kept = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  };
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const theme = kept('fermi.theme') ?? 'system';
  root.dataset.theme = theme === 'system' ? (dark ? 'dark' : 'light') : theme;
  const first = navigator.language ?? '';
  const language = kept('fermi.language') ?? (first === '' || first.toLowerCase().startsWith('zh') ? 'zh-CN' : 'en');
  root.lang = language === 'en' ? 'en' : 'zh-CN';
})();
