// The pages of access tokens and of usage.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ConsoleFixture } from './browser.ts';

const fixture = new ConsoleFixture();

test('an access token is created, shown once, and revoked', async () => {
  await using tab = await fixture.signedIn();
  await tab.link('Access tokens').click();
  await tab.button('New token…').click();
  await tab.field('Label').fill('dashboard');
  await tab.button('Create').click();
  const token = await tab.dialog.locator('code').innerText();
  await using other = await fixture.open();
  await other.signIn(token);
  await other.page.getByTitle('Workspaces: all of the tenant default').waitFor();
  assert.equal(await other.link('Access tokens').count(), 0, 'the token has no permission for them');
  await other.page.getByText('Your token does not have the permission snapshot,').waitFor();
  assert.equal(await tab.page.getByText('Your token does not have').count(), 0);
  await tab.button('Close').click();
  await tab.button('Revoke dashboard…').click();
  await tab.button('Revoke').click();
  await tab.notice('dashboard was revoked.');
  await tab.page.getByText('No access tokens yet.').waitFor();
});

test('the usage of the workspaces is shown with its cost', async () => {
  const { sandboxId } = await fixture.world.rpc('workspaces/create', { name: 'desk' });
  await fixture.world.snapshot(sandboxId);
  await using tab = await fixture.signedIn();
  await tab.link('Usage').click();
  const rows = tab.page.getByRole('row');
  await rows.nth(2).waitFor();
  assert.match(await rows.nth(1).innerText(), /^desk\s+[\d.]+ k?B\s+1\s+0\s.*\$/s);
  await tab.page.getByText('US dollars by Cloudflare’s list prices of').waitFor();
});
