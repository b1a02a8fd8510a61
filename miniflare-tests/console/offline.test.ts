// Tests of a console whose Worker can't be reached.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { TOKEN } from '../world.ts';
import { ConsoleFixture } from './browser.ts';

const fixture = new ConsoleFixture({}, (world) => world.exec('agent', 'echo x >file').then(() => undefined));

/** What users of the console cannot act on. */
const FOR_PROGRAMS = /ANSWER_LOST|idempotency|Failed to fetch/;

test('a page that cannot be read says so, and is read again on request', async () => {
  await using tab = await fixture.signedIn();
  await tab.page.getByText('No workspaces yet.').waitFor();
  await tab.page.context().setOffline(true);
  await tab.visit('#/sandboxes/agent');
  const failure = await tab.failure('The Worker can’t be reached.');
  assert.match(failure, /Check your connection\..*retries automatically/s);
  assert.doesNotMatch(failure, FOR_PROGRAMS);
  await tab.button('Health unknown').click();
  assert.doesNotMatch(await tab.dialog.innerText(), FOR_PROGRAMS);
  await tab.button('Close').click();
  await Promise.all([tab.page.waitForRequest('**/v1/lineage'), tab.button('Try again').click()]);
  await tab.page.context().setOffline(false);
  await tab.node('Sandbox agent').waitFor();
});

test('an action says whether it may have completed, and is repeated on request', async () => {
  await using tab = await fixture.atSandbox('agent');
  await tab.button('Take a snapshot…').click();
  await tab.field('Label').fill('by hand');
  await tab.page.context().setOffline(true);
  await tab.button('Take snapshot').click();
  const failure = tab.dialog.getByRole('alert');
  await failure.waitFor();
  assert.match(await failure.innerText(), /can’t be reached\..*nothing is created twice/s);
  assert.doesNotMatch(await failure.innerText(), FOR_PROGRAMS);
  await tab.page.context().setOffline(false);
  await tab.button('Take snapshot').click();
  await tab.notice('was taken');
});

test('the sign-in form says so, and signs in on request', async () => {
  await using tab = await fixture.open();
  await tab.field('API token').fill(TOKEN);
  await tab.page.context().setOffline(true);
  await tab.button('Sign in').click();
  assert.doesNotMatch(await tab.failure('The Worker can’t be reached.'), FOR_PROGRAMS);
  await tab.page.context().setOffline(false);
  await tab.button('Try again').click();
  await tab.button('Sign out').waitFor();
});
