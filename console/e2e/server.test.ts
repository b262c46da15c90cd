// A server of its own: it asks for a token, is shown behind a path prefix, goes away and comes back.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { zh } from '../src/words/zh';
import { launch } from './browser';
import { binary, freePort, until } from './fermi';

const folder = mkdtempSync(join(tmpdir(), 'fermi-token-'));
const children: ChildProcess[] = [];
let port: number;
let browser: Browser;
let console_: string;
const startServer = () =>
  spawn(binary(), ['server', '--listen', `0.0.0.0:${port}`, '--data-dir', folder], { stdio: 'ignore' });

beforeAll(async () => {
  port = await freePort();
  const preview = await freePort();
  const server = `http://127.0.0.1:${port}`;
  children.push(
    startServer(),
    spawn(process.execPath, [new URL('../scripts/preview.mjs', import.meta.url).pathname], {
      env: { ...process.env, FERMI_SERVER: server, PORT: String(preview), PREFIX: '/behind/a/proxy' },
      stdio: 'ignore',
    }),
  );
  await until('the server', async () => ((await fetch(`${server}/livez`)).ok ? true : null));
  console_ = `http://127.0.0.1:${preview}/behind/a/proxy`;
  browser = await launch();
});
afterAll(async () => {
  await browser.close();
  for (const child of children) child.kill('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
});

test('the token is asked for, behind a path prefix too', async () => {
  const page = await browser.newPage({ locale: 'zh-CN' });
  await page.goto(`${console_}/settings`);
  const dialog = page.getByRole('dialog', { name: zh.shell.tokenTitle });
  await dialog.getByLabel(zh.shell.tokenLabel).fill('wrong');
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  const token = readFileSync(join(folder, 'token'), 'utf8').trim();
  await dialog.getByLabel(zh.shell.tokenLabel).fill(token);
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.getByText(zh.settings.retention, { exact: true }).waitFor();
  await page.getByRole('link', { name: zh.shell.models, exact: true }).click();
  await page.getByText(zh.models.empty).waitFor();
  expect(page.url()).toBe(`${console_}/models`);
  const kept = await page.evaluate(() => [
    ...Object.values(localStorage),
    ...Object.values(sessionStorage),
    document.cookie,
  ]);
  expect(kept.some((value) => String(value).includes(token))).toBe(false);
});

test('a server that goes away is missed, and found again when it comes back', async () => {
  const token = readFileSync(join(folder, 'token'), 'utf8').trim();
  const page = await browser.newPage({ locale: 'zh-CN' });
  await page.goto(`${console_}/models#token=${token}`);
  expect(page.url()).toBe(`${console_}/models`);
  const live = page.getByRole('banner').getByRole('status');
  await expect.poll(() => live.textContent(), { timeout: 20_000 }).toContain(zh.shell.live);
  children[0]?.kill('SIGKILL');
  await page.getByText(zh.shell.muteTitle).waitFor({ timeout: 60_000 });
  children.push(startServer());
  await page.getByText(zh.shell.muteTitle).waitFor({ state: 'detached', timeout: 60_000 });
  await expect.poll(() => live.textContent(), { timeout: 20_000 }).toContain(zh.shell.live);
});
