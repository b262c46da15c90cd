// A server that asks who one is, behind a path prefix: log-in, what a viewer may not do, users and tokens.
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { zh } from '../src/words/zh';
import { api, until } from './fermi';
import { test as plain } from './fixture';
import { type Seed, startSeed } from './seed';

const PREFIX = '/behind/a/proxy';
const PASSWORD = 'correct horse';
const w = zh.settings;

const test = plain.extend<{ guarded: Seed & { token: string } }>({
  guarded: [
    // biome-ignore lint/correctness/noEmptyPattern: a fixture names what it needs
    async ({}, use) => {
      const seed = await startSeed({ asksForToken: true, prefix: PREFIX });
      for (const [name, role] of Object.entries({ ann: 'member', vera: 'viewer' }))
        await api(seed.server, '/users', { name, role, password: PASSWORD }, seed.token);
      await use({ ...seed, token: seed.token ?? '' });
      await seed.stop();
    },
    { scope: 'file' },
  ],
});

async function logIn(page: Page, user: string) {
  const dialog = page.getByRole('dialog', { name: zh.shell.tokenTitle });
  await dialog.getByRole('button', { name: zh.shell.logInByName }).click();
  await dialog.getByLabel(zh.shell.logInUser).fill(user);
  await dialog.getByLabel(zh.shell.logInPassword).fill(PASSWORD);
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
}

/** The first button of this name cannot be pressed, and says so with this word. */
async function expectRefused(page: Page, name: string, word: string) {
  const button = page.getByRole('button', { name, exact: true }).first();
  // Who is logged in is known a moment after the page is there.
  await until(`${name} of ${page.url()} to be refused`, async () =>
    (await button.getAttribute('title'))?.includes(word) ? true : null,
  );
  expect(await button.getAttribute('aria-disabled')).toBe('true');
}

test('the token is asked for, behind a path prefix too', async ({ browser, guarded: { console: base, token } }) => {
  const page = await browser.newPage({ locale: 'zh-CN' });
  await page.goto(`${base}/settings`);
  const dialog = page.getByRole('dialog', { name: zh.shell.tokenTitle });
  await dialog.getByLabel(zh.shell.tokenLabel).fill('wrong');
  await page.keyboard.press('Enter');
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel(zh.shell.tokenLabel).fill(token);
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.getByText(w.retention, { exact: true }).waitFor();
  await page.getByRole('link', { name: zh.shell.models, exact: true }).click();
  await page.getByText(zh.models.empty).waitFor();
  expect(page.url()).toBe(`${base}/models`);
  const kept = await page.evaluate(() => [
    ...Object.values(localStorage),
    ...Object.values(sessionStorage),
    document.cookie,
  ]);
  expect(kept.some((value) => String(value).includes(token))).toBe(false);
  await page.close();
});

test('a viewer looks at everything and changes nothing', async ({
  browser,
  guarded: { server, console: base, token },
}) => {
  const { items } = await api<{ items: { id: string; name: string }[] }>(server, '/environments', undefined, token);
  const nodeIds = [items.find(({ name }) => name === 'pytorch-dev-env')?.id];
  const body = {
    taskName: 'of-another',
    distributedConfig: { nodeIds, framework: 'command' },
    command: { argv: ['sleep', '600'] },
  };
  const { taskId } = await api<{ taskId: string }>(server, '/training-tasks', body, token);
  const page = await browser.newPage({ locale: 'zh-CN' });
  await page.goto(`${base}/training/${taskId}`);
  await logIn(page, 'vera');
  await page.getByRole('heading', { level: 1, name: 'of-another' }).waitFor();
  await expectRefused(page, zh.task.stop, w.roles.viewer);
  const refused: [string, string][] = [
    ['/models', zh.models.create],
    ['/datasets', zh.datasets.create],
    ['/datasets', zh.datasets.addVersion],
    ['/datasets', zh.datasets.delete],
    ['/groups', zh.groups.create],
    ['/environments', zh.environments.join],
    ['/training/create', zh.create.submit],
    ['/settings?tab=users', w.addUser],
    ['/settings?tab=secrets', w.setSecret],
    ['/settings?tab=webhooks', w.addWebhook],
  ];
  for (const [path, name] of refused) {
    if (!page.url().endsWith(path)) await page.goto(`${base}${path}`);
    await expectRefused(page, name, w.roles.viewer);
  }
  await page.goto(`${base}/training`);
  await page.getByRole('checkbox', { name: zh.training.select('of-another') }).click();
  await expectRefused(page, zh.training.stop, w.roles.viewer);
  await page.goto(`${base}/environments`);
  await page
    .getByRole('button', { name: zh.environments.actionsOf('pytorch-dev-env') })
    .first()
    .click();
  const drain = page.getByRole('menuitem', { name: zh.environments.drain });
  await drain.waitFor();
  expect(await drain.getAttribute('aria-disabled')).toBe('true');
  expect(await drain.getAttribute('title')).toContain(w.roles.viewer);
  await page.goto(`${base}/settings`);
  await page.getByText(w.roleMay.viewer).waitFor();
  await page.getByRole('button', { name: w.logOut }).click();
  await page.getByRole('dialog', { name: zh.shell.tokenTitle, exact: true }).waitFor();
  await api(server, `/training-tasks/${taskId}/stop`, { force: true }, token);
  await page.close();
});

test('a member changes what is their own and is told whose the rest is', async ({
  browser,
  guarded: { console: base, server, token },
}) => {
  const page = await (await browser.newContext({ locale: 'zh-CN' })).newPage();
  await page.goto(`${base}/datasets`);
  await logIn(page, 'ann');
  await page.getByRole('button', { name: zh.datasets.create }).click();
  await page.getByLabel(zh.common.name).fill('of-ann');
  await page.getByRole('button', { name: zh.common.create, exact: true }).click();
  const row = (name: string) => page.getByRole('listitem').filter({ has: page.getByRole('heading', { name }) });
  await row('of-ann').waitFor();
  const verbs = [zh.datasets.addVersion, zh.datasets.delete];
  for (const name of verbs) {
    const own = row('of-ann').getByRole('button', { name, exact: true });
    expect(await own.getAttribute('aria-disabled')).toBeNull();
    const foreign = row('wikitext-103').getByRole('button', { name, exact: true });
    expect(await foreign.getAttribute('aria-disabled')).toBe('true');
  }
  // A group of another can be started on, not changed.
  await api(server, '/groups', { name: 'of-root', workers: ['pytorch-dev-env-0'] }, token);
  await page.goto(`${base}/groups`);
  await expectRefused(page, zh.groups.config, w.roles.member);
  await expectRefused(page, zh.groups.delete, w.roles.member);
  await page.getByRole('checkbox', { name: /pytorch-dev-env-0/ }).click();
  await page.getByRole('button', { name: zh.groups.moveTo }).click();
  const out = page.getByRole('menuitem', { name: zh.groups.unassigned });
  await out.waitFor();
  expect(await out.getAttribute('aria-disabled')).toBe('true');
  await page.context().close();
});

test('an administrator adds a user, who makes a token that is shown once and can be revoked', async ({
  browser,
  guarded: { server, console: base, token },
}) => {
  const page = await browser.newPage({ locale: 'zh-CN' });
  await page.goto(`${base}/settings?tab=users#token=${token}`);
  await page.getByRole('button', { name: w.addUser }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(w.userName).fill('bob');
  await dialog.getByLabel(w.password).fill(PASSWORD);
  await dialog.getByRole('button', { name: w.addUser }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('combobox', { name: w.roleOf('bob') }).click();
  await page.getByRole('option', { name: new RegExp(`^${w.roles.viewer}`) }).click();
  await page.getByText(w.roleGiven('bob')).first().waitFor();

  const bob = await (await browser.newContext({ locale: 'zh-CN' })).newPage();
  await bob.goto(`${base}/settings?tab=tokens`);
  await logIn(bob, 'bob');
  await bob.getByRole('button', { name: w.makeToken }).click();
  await bob.getByLabel(w.tokenName).fill('nightly');
  await bob.getByRole('dialog').getByRole('button', { name: w.makeToken }).click();
  const made = bob.getByRole('dialog', { name: w.tokenMade });
  const word = (await made.locator('code').first().textContent()) ?? '';
  expect(await api<{ user: string; role: string }>(server, '/session', undefined, word)).toMatchObject({
    user: 'bob',
    role: 'viewer',
  });
  await made.getByRole('button', { name: w.tokenKept }).click();
  expect(await bob.locator('body').textContent()).not.toContain(word);
  await bob
    .getByRole('row', { name: /nightly/ })
    .getByRole('button', { name: w.revoke })
    .click();
  await bob.getByRole('dialog').getByRole('button', { name: w.revoke }).click();
  await bob.getByText(w.tokenRevoked('nightly')).first().waitFor();
  await expect(api(server, '/session', undefined, word)).rejects.toThrow();

  // All of it is on record.
  await page.goto(`${base}/settings?tab=audit&user=bob`);
  await page.getByText('token.created').first().waitFor();
  await bob.context().close();
  await page.close();
});

test('a machine joins by the command of the settings, whose token is used up then', async ({ browser, guarded }) => {
  const { server, console: base, token } = guarded;
  const page = await (await browser.newContext({ locale: 'zh-CN' })).newPage();
  await page.goto(`${base}/settings?tab=join#token=${token}`);
  await page.getByText(w.noJoins).waitFor();
  const make = async (name: string) => {
    await page.getByRole('button', { name: zh.environments.joinMake }).click();
    const dialog = page.getByRole('dialog', { name: zh.environments.joinTitle });
    await dialog.getByLabel(zh.environments.joinName).fill(name);
    await dialog.getByLabel(zh.environments.joinZone).fill('zone-j');
    await dialog.getByLabel(zh.environments.labels).fill('team=nlp');
    await dialog.getByRole('button', { name: zh.environments.joinMake }).click();
    await dialog.getByText(zh.environments.joinOnce).waitFor();
    const command = (await dialog.locator('code').textContent()) ?? '';
    await dialog.getByRole('button', { name: w.tokenKept }).click();
    return command;
  };
  const [variable = '', program, verb, ...flags] = (await make('gn9')).split(' ');
  expect([program, verb, ...flags]).toEqual(['fermi', 'agent', '--server', base, '--name', 'gn9']);
  const row = page.getByRole('row', { name: /gn9/ });
  await row.getByText('zone-j').waitFor();
  await row.getByText('team=nlp').waitFor();
  // The pages are behind a prefix; the machine is told where the server itself is.
  guarded.join('gn9', ['--server', server, '--name', 'gn9'], { FERMI_TOKEN: variable.split('=')[1] ?? '' });
  await until('gn9', async () => {
    type Items = { items: { name: string; zone: string; labels: Record<string, string> }[] };
    const { items } = await api<Items>(server, '/environments', undefined, token);
    const found = items.find(({ name }) => name === 'gn9');
    return found?.zone === 'zone-j' && found.labels.team === 'nlp' ? true : null;
  });
  await page.reload();
  await page.getByText(w.noJoins).waitFor();

  await make('gn10');
  const unused = page.getByRole('row', { name: /gn10/ });
  await unused.getByRole('button', { name: w.revoke }).click();
  await page.getByRole('dialog').getByRole('button', { name: w.revoke }).click();
  await page.getByText(w.noJoins).waitFor();
  await page.context().close();
});

test('a server that goes away is missed, and found again when it comes back', async ({ browser, guarded }) => {
  const page = await browser.newPage({ locale: 'zh-CN' });
  await page.goto(`${guarded.console}/models#token=${guarded.token}`);
  expect(page.url()).toBe(`${guarded.console}/models`);
  const live = page.getByRole('banner').getByRole('status');
  await expect.poll(() => live.textContent(), { timeout: 20_000 }).toContain(zh.shell.live);
  await guarded.kill('server');
  await page.getByText(zh.shell.muteTitle).waitFor({ timeout: 60_000 });
  await guarded.startServer();
  await page.getByText(zh.shell.muteTitle).waitFor({ state: 'detached', timeout: 60_000 });
  await expect.poll(() => live.textContent(), { timeout: 20_000 }).toContain(zh.shell.live);
});
