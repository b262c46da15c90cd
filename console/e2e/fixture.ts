// What tests of pages stand on: a browser, and pages that are closed whatever becomes of the test.
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { test as plain } from 'vitest';
import { type Look, launch, open } from './browser';
import { type ProxyOptions, type ReverseProxy, startProxy } from './proxy';
import { type Seed, startSeed } from './seed';

type Visit = (url: string, look?: Look, options?: BrowserContextOptions) => ReturnType<typeof open>;
type Fixtures = {
  /** One per file. */
  browser: Browser;
  /** A server of the file's own, with the environments of the specification; the shared one is `inject('server')`. */
  seed: Seed;
  /** Opens a page in a fresh profile. */
  visit: Visit;
  /** Puts a reverse proxy before an address. */
  behind: (target: string, options?: ProxyOptions) => Promise<string>;
};

export const test = plain.extend<Fixtures>({
  browser: [
    // biome-ignore lint/correctness/noEmptyPattern: a fixture names what it needs
    async ({}, use) => {
      const browser = await launch();
      await use(browser);
      await browser.close();
    },
    { scope: 'file' },
  ],
  seed: [
    // biome-ignore lint/correctness/noEmptyPattern: a fixture names what it needs
    async ({}, use) => {
      const seed = await startSeed();
      await use(seed);
      await seed.stop();
    },
    { scope: 'file' },
  ],
  visit: async ({ browser }, use) => {
    const closes: (() => Promise<void>)[] = [];
    await use(async (url, look, options) => {
      const opened = await open(browser, url, look, options);
      closes.push(opened.close);
      return opened;
    });
    for (const close of closes) await close();
  },
  // biome-ignore lint/correctness/noEmptyPattern: a fixture names what it needs
  behind: async ({}, use) => {
    const proxies: ReverseProxy[] = [];
    await use(async (target, options) => {
      const proxy = await startProxy(target, options);
      proxies.push(proxy);
      return proxy.address;
    });
    for (const proxy of proxies) await proxy.stop();
  },
});
