// The settings: who is told how tasks end, and who one is.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { zh } from '../src/words/zh';
import { test } from './fixture';

const w = zh.settings;

test('a webhook is added, hears a test and is removed', async ({ visit, seed }) => {
  const heard: string[] = [];
  const receiver = http.createServer((request, response) => {
    heard.push(String(request.headers['x-fermi-event']));
    request.resume();
    response.end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { page, complaints } = await visit(`${seed.console}/settings?tab=webhooks`);
  await page.getByText(w.noWebhooks).waitFor();
  await page.getByRole('button', { name: w.addWebhook }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(zh.common.name).fill('team');
  await dialog.getByLabel(w.webhookUrl).fill(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`);
  await dialog.getByRole('checkbox', { name: w.topics.stopped }).uncheck();
  await dialog.getByRole('button', { name: w.addWebhook }).click();
  await dialog.waitFor({ state: 'detached' });
  const row = page.getByRole('row', { name: /team/ });
  await row.getByText([w.topics.succeeded, w.topics.failed, w.topics.waiting].join(w.listComma)).waitFor();
  await row.getByRole('button', { name: w.webhookTest }).click();
  await page.getByText(w.webhookHeard('team')).first().waitFor();
  expect(heard).toHaveLength(1);
  await row.getByRole('button', { name: w.remove }).click();
  await page.getByRole('dialog').getByRole('button', { name: w.remove }).click();
  await page.getByText(w.noWebhooks).waitFor();
  expect(complaints).toEqual([]);
  receiver.close();
});

test('the header says who one is', async ({ visit, seed }) => {
  const { page } = await visit(`${seed.console}/`);
  await page
    .getByRole('banner')
    .getByRole('button', { name: `${zh.shell.loggedInAs} ${w.names.local}` })
    .click();
  await page.getByText(w.isOpen).waitFor();
  await page.getByRole('menuitem', { name: zh.shell.settings }).click();
  await page.getByRole('heading', { level: 1, name: w.title }).waitFor();
});
