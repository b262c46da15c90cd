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
  },
});
