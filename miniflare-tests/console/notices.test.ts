// Tests of the notices of outcomes: when they leave, and when they stay.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';

import type { TakenSnapshot } from '../../client/src/index.ts';
import { ConsoleFixture, type Tab } from './browser.ts';
import { failCalls } from './calls.ts';

const fixture = new ConsoleFixture();
let origin: string;
let origins = 0;
let base: TakenSnapshot;

beforeEach(async () => {
  origin = `origin-${++origins}`;
  await fixture.world.exec(origin, 'echo x >file');
  base = await fixture.world.snapshot(origin, { label: 'base' });
});

/** The bar of the page, which is empty without a notice. */
const bar = (tab: Tab) => tab.page.locator('.notice');

/** Opens a tab whose clock the test advances, and pins a snapshot in it. */
async function pinned(): Promise<Tab> {
  const tab = await fixture.atSnapshot(base);
  await tab.page.clock.install();
  await tab.button('Pin').click();
  await tab.notice('“base” is now pinned.');
  return tab;
}

describe('the notice of an outcome', () => {
  test('leaves after 20 seconds', async () => {
    await using tab = await pinned();
    await tab.page.mouse.move(0, 0);
    await tab.page.clock.runFor(10_000);
    assert.match(await bar(tab).innerText(), /pinned/);
    await tab.page.clock.runFor(11_000);
    assert.equal(await bar(tab).innerText(), '');
  });

  test('stays while the user points at it or it has the focus, and then for the rest of its time', async () => {
    await using tab = await pinned();
    await bar(tab).hover();
    await tab.page.clock.runFor(60_000);
    assert.match(await bar(tab).innerText(), /pinned/);
    await tab.button('Dismiss').focus();
    await tab.page.mouse.move(0, 0);
    await tab.page.clock.runFor(60_000);
    assert.match(await bar(tab).innerText(), /pinned/);
    await tab.button('Pin').or(tab.button('Unpin')).focus();
    await tab.page.clock.runFor(21_000);
    assert.equal(await bar(tab).innerText(), '');
  });

  test('leaves when the user goes to another page, and not with another selection', async () => {
    await using tab = await pinned();
    await tab.node(`Sandbox ${origin}`).click();
    await tab.details.getByRole('heading', { name: origin }).waitFor();
    assert.match(await bar(tab).innerText(), /pinned/);
    await tab.link('Workspaces').click();
    await tab.page.getByRole('heading', { name: 'Workspaces' }).waitFor();
    await bar(tab).and(tab.page.locator('[data-empty=true]')).waitFor({ state: 'attached' });
  });

  test('is on the page that replaces the one of a deleted workspace', async () => {
    await fixture.createWorkspaces('deleted', ['desk']);
    await using tab = await fixture.signedIn('#/workspaces/deleted/desk');
    await tab.button('Delete desk…').click();
    await tab.field('Type desk to confirm').fill('desk');
    await tab.button('Delete workspace').click();
    await tab.page.getByText('No workspaces yet.').waitFor();
    assert.match(await bar(tab).innerText(), /desk was deleted/);
  });

  test('that warns stays until the next action', async () => {
    await fixture.createWorkspaces('warns', ['desk']);
    await using tab = await fixture.signedIn('#/workspaces/warns/desk');
    await tab.page.clock.install();
    await tab.page.route('**/v1/workspaces/start', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), stale: ['the image differs'] } });
    });
    await tab.button('Check desk').click();
    await tab.notice('Stale: the image differs.');
    await tab.page.mouse.move(0, 0);
    await tab.page.clock.runFor(60_000);
    assert.match(await bar(tab).innerText(), /Stale/);
    await tab.button('Fork desk…').click();
    await tab.dialog.waitFor();
    assert.doesNotMatch((await bar(tab).allInnerTexts()).join(), /Stale/);
  });
});

test('a failure stays', async () => {
  await using tab = await fixture.atSnapshot(base);
  await tab.page.clock.install();
  await failCalls(tab, 'pin', 'SNAPSHOT_BUSY', 'conflict');
  await tab.button('Pin').click();
  await tab.failure('SNAPSHOT_BUSY');
  await tab.page.clock.runFor(60_000);
  await tab.failure('SNAPSHOT_BUSY');
});
