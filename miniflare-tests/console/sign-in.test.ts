// Tests of signing in, and of where the token is stored.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { TOKEN, World } from '../world.ts';
import { ConsoleFixture, Tab } from './browser.ts';

const fixture = new ConsoleFixture();

describe('signing in', () => {
  test('with the token shows the workspaces', async () => {
    await using tab = await fixture.open();
    await tab.signIn();
    await tab.page.getByRole('heading', { name: 'Workspaces' }).waitFor();
  });

  test('with a wrong token fails with a remediation', async () => {
    await using tab = await fixture.open();
    await tab.field('API token').fill('another token');
    await tab.button('Sign in').click();
    const failure = await tab.failure('UNAUTHORIZED');
    assert.match(
      failure,
      /This is not the token of this deployment\..*API_TOKEN.*\.dev\.vars.*wrangler secret put/s,
    );
    assert.doesNotMatch(failure, /header/i);
    assert.match(failure, /Correlation id [0-9a-f]{16}/);
  });

  test('with a token that no HTTP header can contain fails', async () => {
    await using tab = await fixture.open();
    await tab.field('API token').fill('schlüssel 🦀');
    await tab.button('Sign in').click();
    assert.match(await tab.failure('UNAUTHORIZED'), /This is not the token of this deployment\./);
    assert.equal(await tab.button('Sign out').count(), 0);
  });

  test('fails with a remediation if the deployment has no token', async () => {
    await using world = await World.start({ snapshotter: { port: 0, vars: { API_TOKEN: '' } } });
    await using tab = await Tab.open(fixture.browser, world);
    await tab.field('API token').fill(TOKEN);
    await tab.button('Sign in').click();
    assert.match(await tab.failure('API_TOKEN_MISSING'), /wrangler secret put API_TOKEN/);
    await tab.button('1 warning').click();
    assert.match(await tab.dialog.innerText(), /apiToken\s+API_TOKEN_MISSING/);
  });
});

describe('the token', () => {
  const inStorage = 'JSON.stringify({ ...sessionStorage, ...localStorage })';

  test('is not in any URL, storage or log', async () => {
    await using tab = await fixture.signedIn('#/sandboxes/somewhere');
    await tab.page.getByText('The sandbox somewhere is not running').waitFor();
    for (const address of [...tab.requests, tab.page.url()])
      assert.ok(!decodeURIComponent(address.replaceAll('+', ' ')).includes(TOKEN), address);
    assert.ok(!(await tab.evaluate<string>(inStorage)).includes(TOKEN));
    assert.ok(!tab.logged.join().includes(TOKEN));
  });

  test('is lost when the page is reloaded', async () => {
    await using tab = await fixture.signedIn();
    await tab.page.reload();
    await tab.button('Sign in').waitFor();
  });

  test('is not kept in the back/forward cache', async () => {
    await using tab = await fixture.signedIn();
    await tab.evaluate(`dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`);
    await tab.button('Sign in').waitFor();
  });

  test('is kept when the documentation opens in another tab', async () => {
    await using tab = await fixture.signedIn();
    const [popup] = await Promise.all([tab.page.waitForEvent('popup'), tab.link('Docs').click()]);
    assert.ok(popup.url().endsWith('/docs/guides'));
    await tab.button('Sign out').waitFor();
  });

  test('is stored in the tab on request until the user signs out', async () => {
    await using tab = await fixture.open();
    await tab.field('Stay signed in for this tab').check();
    await tab.signIn();
    assert.equal(await tab.evaluate('JSON.stringify({ ...localStorage }).includes("token")'), false);
    await tab.page.reload();
    await tab.button('Sign out').click();
    await tab.button('Sign in').waitFor();
    assert.ok(!(await tab.evaluate<string>(inStorage)).includes(TOKEN));
    await tab.page.reload();
    await tab.button('Sign in').waitFor();
  });

  test('that is no longer accepted leads to the sign-in page', async () => {
    await using tab = await fixture.signedIn();
    await tab.page.route('**/v1/**', (route) =>
      route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer another token' } }),
    );
    await tab.button('Refresh').click();
    assert.match(await tab.failure('UNAUTHORIZED'), /no longer accepts your token/);
    assert.equal(await tab.field('API token').inputValue(), '');
  });
});

test('a token with the permission `read` offers no action that must fail', async () => {
  await fixture.world.workspace('readable').getOrCreate();
  await fixture.world.workspace('readable').exec('echo x > file');
  const { sandboxId } = await fixture.world.workspace('readable').describe();
  await fixture.world.snapshot(sandboxId, { label: 'base' });
  const { token } = await fixture.world.rpc('tokens/create', {
    permissions: ['read'],
    workspaces: ['readable'],
  });
  await using tab = await fixture.open();
  await tab.signIn(token);
  await tab.page.getByTitle('Workspaces: readable').waitFor();
  await tab.link('readable').waitFor();
  assert.equal(await tab.button('New workspace…').count(), 0);
  await tab.visit('#/workspaces/default/readable');
  await tab.node('Snapshot base').click();
  await tab.button('Verify').click();
  const others =
    'Restore to a new sandbox, Branch to a new sandbox, Pin, Label…, Roll back…, Promote…, Delete…, Stop, Start, Fork…, Check, Take a snapshot…'.split(
      ', ',
    );
  const offered = await tab.page.getByRole('button').allInnerTexts();
  assert.deepEqual(
    offered.filter((name) => others.includes(name.trim())),
    [],
  );
  assert.equal(await tab.page.getByRole('alert').count(), 0);
  // With all permissions, the page has these buttons.
  await using other = await fixture.signedIn('#/workspaces/default/readable');
  await other.node('Snapshot base').click();
  for (const name of ['Roll back…', 'Restore to a new sandbox', 'Branch to a new sandbox', 'Pin', 'Label…'])
    await other.button(name).waitFor();
});

test('the health of the deployment is shown before and after signing in', async () => {
  await using tab = await fixture.open();
  await tab.button('Healthy').click();
  assert.match(await tab.dialog.innerText(), /passed\s+bucket/);
  await tab.button('Close').click();
  await tab.signIn();
  await tab.button('Healthy').click();
  assert.match(await tab.dialog.innerText(), /passed\s+directory/);
});
