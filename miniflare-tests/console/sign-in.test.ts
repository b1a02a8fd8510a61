// Who may look at the console, and what becomes of their token.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { TOKEN, World } from '../world.ts';
import { Stage, Tab } from './browser.ts';

const stage = new Stage();

describe('signing in', () => {
  test('with the token shows the workspaces', async () => {
    await using tab = await stage.open();
    await tab.signIn();
    await tab.page.getByRole('heading', { name: 'Workspaces' }).waitFor();
  });

  test('with another token is refused, and says what to do', async () => {
    await using tab = await stage.open();
    await tab.field('API token').fill('another token');
    await tab.button('Sign in').click();
    const failure = await tab.failure('UNAUTHORIZED');
    assert.match(failure, /API_TOKEN/);
    assert.match(failure, /In the log as [0-9a-f]{16}/);
  });

  test('with a token that no request can carry is refused too', async () => {
    await using tab = await stage.open();
    await tab.field('API token').fill('schlüssel 🦀');
    await tab.button('Sign in').click();
    await tab.page.getByRole('alert').waitFor();
    assert.equal(await tab.button('Sign out').count(), 0);
  });

  test('says where the deployment has no token', async () => {
    await using shut = await World.start({ snapshotter: { port: 0, vars: { API_TOKEN: '' } } });
    await using tab = await Tab.open(stage.browser, shut);
    await tab.field('API token').fill(TOKEN);
    await tab.button('Sign in').click();
    assert.match(await tab.failure('API_TOKEN_MISSING'), /wrangler secret put API_TOKEN/);
    await tab.button('1 remark').click();
    assert.match(await tab.dialog.innerText(), /apiToken\s+API_TOKEN_MISSING/);
  });
});

describe('the token', () => {
  const inStorage = 'JSON.stringify({ ...sessionStorage, ...localStorage })';

  test('is in no address, in no storage and in no log', async () => {
    await using tab = await stage.atSandbox('somewhere');
    for (const address of [...tab.requests, tab.page.url()])
      assert.ok(!decodeURIComponent(address.replaceAll('+', ' ')).includes(TOKEN), address);
    assert.ok(!(await tab.evaluate<string>(inStorage)).includes(TOKEN));
    assert.ok(!tab.logged.join().includes(TOKEN));
  });

  test('is forgotten with the page', async () => {
    await using tab = await stage.signedIn();
    await tab.page.reload();
    await tab.button('Sign in').waitFor();
  });

  test('is forgotten too by a page that the browser keeps, to go back to', async () => {
    await using tab = await stage.signedIn();
    await tab.evaluate(`dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`);
    await tab.button('Sign in').waitFor();
  });

  test('is not lost to who looks at the API’s documentation', async () => {
    await using tab = await stage.signedIn();
    const [beside] = await Promise.all([tab.page.waitForEvent('popup'), tab.link('HTTP API').click()]);
    assert.ok(beside.url().endsWith('/docs'));
    await tab.button('Sign out').waitFor();
  });

  test('stays for the tab where that was asked for, and goes when its user does', async () => {
    await using tab = await stage.open();
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

  test('that is not accepted any more leads back to signing in', async () => {
    await using tab = await stage.signedIn();
    await tab.page.route('**/v1/**', (route) =>
      route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer another token' } }),
    );
    await tab.button('Read again').click();
    assert.match(await tab.failure('UNAUTHORIZED'), /not accepted any more/);
    assert.equal(await tab.field('API token').inputValue(), '');
  });
});

test('the health of the deployment is told before and after', async () => {
  await using tab = await stage.open();
  await tab.button('Healthy').click();
  assert.match(await tab.dialog.innerText(), /right\s+bucket/);
  await tab.button('Close').click();
  await tab.signIn();
  await tab.button('Healthy').click();
  assert.match(await tab.dialog.innerText(), /right\s+directory/);
});
