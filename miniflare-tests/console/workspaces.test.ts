// Named workspaces in the console.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { until } from '../world.ts';
import { Stage, type Tab } from './browser.ts';
import { lookAgain, refuse, sent } from './calls.ts';

const stage = new Stage();

/** The row of a workspace in the list. */
const row = (tab: Tab, name: string) => tab.page.getByRole('row', { name: new RegExp(`^${name} `) });

/** Makes workspaces of a tenant. */
async function workspaces(tenant: string, names: string[]) {
  for (const name of names) await stage.world.workspace(name, tenant).create();
  const listed = async () => (await stage.world.rpc('workspaces/list', { tenant })).workspaces.length;
  await until(async () => (await listed()) === names.length);
}

describe('the list', () => {
  test('tells of each workspace its state, its last snapshot and its sandbox', async () => {
    await workspaces('told', ['docs', 'shop']);
    await stage.world.workspace('docs', 'told').exec('head -c 30000 /dev/urandom >file');
    await stage.world.workspace('docs', 'told').stop();
    await using tab = await stage.signedIn('#/workspaces/told');
    await row(tab, 'docs').getByText('stopped').waitFor();
    assert.match(await row(tab, 'docs').innerText(), /stopped\s+3\d kB\s.*docs-\w{10}/s);
    assert.match(await row(tab, 'shop').innerText(), /active\s+none/);
  });

  test('is of another tenant, and of names that begin with something, where that is asked for', async () => {
    await workspaces('asked', ['alpha', 'beta-1', 'beta-2']);
    await using tab = await stage.signedIn();
    await tab.page.getByText('There is no workspace yet.').waitFor();
    await tab.field('Tenant').fill('asked');
    await tab.field('Name begins with').fill('beta');
    await tab.button('Show').click();
    await tab.link('beta-2').waitFor();
    assert.equal(await tab.link('alpha').count(), 0);
    assert.ok(tab.page.url().endsWith('#/workspaces/asked?prefix=beta'));
  });

  test('is turned page by page', async () => {
    await workspaces('paged', ['a', 'b', 'c']);
    await using tab = await stage.signedIn();
    await tab.page.route('**/v1/workspaces/list', (route) =>
      route.continue({ postData: { ...route.request().postDataJSON(), limit: 2 } }),
    );
    await tab.visit('#/workspaces/paged');
    await tab.link('Next page').click();
    await tab.link('c').waitFor();
    assert.deepEqual([await tab.link('a').count(), await tab.link('Next page').count()], [0, 0]);
    await tab.link('First page').click();
    await tab.link('a').waitFor();
  });

  test('shows by itself what others make', async () => {
    await using tab = await stage.signedIn('#/workspaces/others');
    await tab.page.getByText('There is no workspace yet.').waitFor();
    await stage.world.workspace('new', 'others').create();
    await tab.link('new').waitFor();
  });
});

describe('a workspace', () => {
  test('is made, and its page is shown', async () => {
    await using tab = await stage.signedIn('#/workspaces/makers');
    await tab.button('New workspace…').click();
    await tab.field('Name').fill('fresh');
    await tab.button('Make it').click();
    await tab.page.getByRole('heading', { name: 'fresh', exact: true }).waitFor();
    await tab.page.getByRole('treeitem', { name: 'here running fresh' }).waitFor();
    assert.equal(await stage.world.workspace('fresh', 'makers').state(), 'active');
  });

  test('whose name is taken is refused', async () => {
    await workspaces('taken', ['one']);
    await using tab = await stage.signedIn('#/workspaces/taken');
    await tab.button('New workspace…').click();
    await tab.field('Name').fill('one');
    await tab.button('Make it').click();
    assert.match(await tab.failure('NAME_TAKEN'), /one/);
  });

  test('is stopped with a snapshot, and started from it', async () => {
    await workspaces('stops', ['desk']);
    const desk = stage.world.workspace('desk', 'stops');
    await desk.exec('echo work >file');
    await using tab = await stage.signedIn('#/workspaces/stops');
    await tab.button('Stop desk').click();
    assert.match(await tab.told('desk is stopped'), /its files are in snap-\w+, \d/);
    await row(tab, 'desk').getByText('stopped').waitFor();
    await tab.button('Start desk').click();
    await tab.told('desk was restored from its snapshot.');
    await row(tab, 'desk').getByText('active').waitFor();
    assert.equal(await desk.exec('cat file'), 'work\n');
  });

  test('whose sandbox woke by itself is started as its user chooses', async () => {
    await workspaces('woke', ['desk']);
    const desk = stage.world.workspace('desk', 'woke');
    await desk.exec('echo work >file');
    await stage.world.snapshot(await desk.sandboxId());
    await desk.wakeByItself('echo other >other');
    await using tab = await stage.signedIn('#/workspaces/woke');
    await tab.button('Start desk').click();
    await tab.failure('WORKSPACE_DIVERGED');
    await tab.button('Discard it, and restore…').click();
    await tab.dialog.getByText('what was written in its sandbox since').waitFor();
    await tab.button('Discard it').click();
    await tab.told('desk was restored from its snapshot.');
    assert.equal(await desk.exec('ls'), 'file\n');
  });

  test('that keeps no files is stopped only after a question', async () => {
    await stage.world.rpc('workspaces/create', { name: 'desk', tenant: 'unkept', persistent: false });
    await using tab = await stage.signedIn('#/workspaces/unkept');
    const calls = sent(tab, 'workspaces/stop');
    await tab.button('Stop desk').click();
    await tab.dialog.getByText('a stop takes no snapshot').waitFor();
    assert.deepEqual(calls, []);
    await tab.button('Stop it').click();
    await tab.told('desk is stopped; without a snapshot.');
  });

  test('whose hook fails says so in a line, and shows what it printed beside', async () => {
    await workspaces('hooked', ['desk']);
    await using tab = await stage.signedIn('#/workspaces/hooked/desk');
    const output = `line\n`.repeat(1000);
    await tab.page.route('**/v1/workspaces/start', async (route) => {
      const response = await route.fetch();
      const hookRuns = [{ hook: 'afterStart', ok: false, timedOut: false, output, exitCode: 1 }];
      await route.fulfill({ response, json: { ...(await response.json()), hookRuns } });
    });
    await tab.button('Start desk').click();
    assert.match(await tab.told('desk was running.'), /Its hook afterStart failed\.$/);
    const shown = tab.page.getByRole('region', { name: 'Output of the hook afterStart' });
    assert.equal(await shown.locator('pre').textContent(), output);
    assert.ok(((await shown.boundingBox())?.height ?? Infinity) < 600);
  });

  test('shows the failure of what was done last alone', async () => {
    await workspaces('last', ['desk']);
    await using tab = await stage.signedIn('#/workspaces/last');
    await refuse(tab, 'workspaces/start', 'NOTHING_RESTORABLE', 'conflict');
    await tab.button('Start desk').click();
    await tab.failure('NOTHING_RESTORABLE');
    await tab.button('Stop desk').click();
    await tab.told('desk is stopped');
    assert.equal(await tab.page.getByRole('alert').count(), 0);
  });

  test('is forked as often as that can be, and each refusal is told with its reason', async () => {
    await workspaces('refused', ['desk', 'copy-1']);
    await using tab = await stage.signedIn('#/workspaces/refused/desk');
    await tab.button('Fork desk…').click();
    await tab.field('Name of the fork').fill('copy');
    await tab.field('How many').fill('2');
    await tab.button('Fork it').click();
    const forks = tab.dialog.getByRole('list', { name: 'Forks' });
    await forks.waitFor();
    assert.match(await forks.innerText(), /refused\s+copy-1\s+NAME_TAKEN.*made\s+copy-2/s);
  });

  test('is forked', async () => {
    await workspaces('forks', ['desk']);
    await stage.world.workspace('desk', 'forks').exec('echo work >file');
    await using tab = await stage.signedIn('#/workspaces/forks/desk');
    await tab.button('Fork desk…').click();
    await tab.field('Name of the fork').fill('copy');
    await tab.button('Fork it').click();
    await tab.told('Forked: copy.');
    await tab.page.getByRole('treeitem', { name: 'running copy' }).waitFor();
    assert.equal(await stage.world.workspace('copy', 'forks').exec('cat file'), 'work\n');
  });

  test('is deleted when its name was typed, and what that takes is told before and after', async () => {
    await workspaces('ends', ['desk']);
    const desk = stage.world.workspace('desk', 'ends');
    await desk.exec('echo work >file');
    const snapshot = await stage.world.snapshot(await desk.sandboxId());
    const dependent = (await stage.world.branch(snapshot)).ref.sandboxId;
    await using tab = await stage.signedIn('#/workspaces/ends/desk');
    await tab.button('Delete desk…').click();
    assert.match(await tab.dialog.innerText(), /Removed, for good:.*Kept:.*that other sandboxes need/s);
    assert.ok(await tab.button('Delete the workspace').isDisabled());
    await tab.field('Type desk to go on').fill('desk');
    await tab.button('Delete the workspace').click();
    assert.ok((await tab.told('desk was deleted')).includes(`1 snapshot stays, for ${dependent}.`));
    await tab.page.getByText('There is no workspace yet.').waitFor();
  });

  test('tells its settings and its history', async () => {
    await workspaces('history', ['desk']);
    await using tab = await stage.signedIn('#/workspaces/history/desk');
    await tab.page.getByText('Settings and history').click();
    assert.match(await tab.page.getByRole('list', { name: 'History' }).innerText(), /active.*provisioning/s);
  });

  test('that is not there says so', async () => {
    await using tab = await stage.signedIn('#/workspaces/default/nobody');
    const failure = await tab.failure('WORKSPACE_NOT_FOUND');
    assert.match(failure, /read again by itself/);
    const again = tab.page.waitForResponse('**/v1/workspaces/getByName');
    await lookAgain(tab);
    await (await again).finished();
    await tab.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
    assert.equal(await tab.failure('WORKSPACE_NOT_FOUND'), failure, 'it is told once');
  });
});
