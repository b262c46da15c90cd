import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

const server = process.env.FERMI_SERVER ?? 'http://127.0.0.1:7070';

export default defineConfig({
  // Every address is relative to the file that names it, so that the console works behind any path prefix.
  base: './',
  plugins: [react(), tailwindcss()],
  resolve: { alias: { '~': fileURLToPath(new URL('./src', import.meta.url)) } },
  build: {
    target: 'es2022',
    // The content security policy is `default-src 'self'`: no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    reportCompressedSize: false,
    // What counts is the first load in gzip, which scripts/compress.mjs measures.
    chunkSizeWarningLimit: 1_000,
  },
  server: {
    proxy: {
      '/api': {
        target: server,
        changeOrigin: true,
        // The server takes requests of its own page only; here the page comes from elsewhere.
        headers: { origin: new URL(server).origin },
      },
    },
  },
  test: { include: ['src/**/*.test.{ts,tsx}'], environment: 'node' },
});
