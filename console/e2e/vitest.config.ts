import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  resolve: { alias: { '~': fileURLToPath(new URL('../src', import.meta.url)) } },
  test: {
    include: [process.env.FERMI_ONLY ?? 'e2e/**/*.test.ts'],
    globalSetup: ['e2e/setup.ts'],
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
    // A machine that does other things too is slow, not wrong: a second, as by default, is not enough for it.
    expect: { poll: { timeout: 30_000, interval: 100 } },
  },
});
