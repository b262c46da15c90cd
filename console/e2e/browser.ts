import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

export type Look = { language?: 'zh-CN' | 'en'; theme?: 'light' | 'dark'; width?: number; height?: number };

/** A name that is no address of this machine: what comes from there is not secure to the browser, as on a network. */
export const PLAIN_HOST = 'fermi.example';

export function launch(): Promise<Browser> {
  const args = ['--no-sandbox', `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args });
}

/** A page in a fresh profile, and what it complained of. */
export async function open(browser: Browser, url: string, look: Look = {}, options: BrowserContextOptions = {}) {
  const { language = 'zh-CN', theme = 'light', width = 1280, height = 900 } = look;
  const context = await browser.newContext({
    viewport: { width, height },
    locale: language,
    colorScheme: theme,
    reducedMotion: 'reduce',
    ...options,
  });
  // A machine that does other things too is slow, not wrong.
  context.setDefaultTimeout(90_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(url);
  await settled(page);
  return { page, complaints, close: () => context.close() };
}

/** The heading is there and nothing is loading any more. */
export async function settled(page: Page) {
  await page.locator('main h1').first().waitFor();
  await page.waitForFunction(() => document.querySelector('main [aria-busy="true"]') === null);
}
