// Tests of named workspaces in the console.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { until } from '../world.ts';
import { ConsoleFixture, type Tab } from './browser.ts';
import { delayCalls, failCalls, recordBodies, triggerRead } from './calls.ts';

const fixture = new ConsoleFixture();

/** The row of a workspace in the list. */
const row = (tab: Tab, name: string) => tab.page.getByRole('row', { name: new RegExp(`^${name} `) });

describe('the list', () => {
  test('shows the state, the last snapshot and the sandbox of each workspace', async () => {
    await fixture.createWorkspaces('listed', ['docs', 'shop']);
    await fixture.world.workspace('docs', 'listed').exec('head -c 30000 /dev/urandom >file');
    await fixture.world.workspace('docs', 'listed').stop();
    await using tab = await fixture.signedIn('#/workspaces/listed');
    await row(tab, 'docs').getByText('stopped').waitFor();
    await row(tab, 'shop').getByText('never').waitFor();
    assert.match(await row(tab, 'docs').innerText(), /stopped\s+just now 3\d kB\s.*docs-\w{10}/s);
    assert.match(await row(tab, 'shop').innerText(), /active\s+never/);
  });

  test('counts the snapshots that callers take, and says nothing before it has read them', async () => {
    await fixture.createWorkspaces('called', ['desk']);
    await fixture.world.snapshot(await fixture.world.workspace('desk', 'called').sandboxId());
    await using tab = await fixture.signedIn();
    const proceed = await delayCalls(tab, 'workspaces/getByName');
    await tab.visit('#/workspaces/called');
    await row(tab, 'desk').getByText('–', { exact: true }).waitFor();
    assert.equal(await row(tab, 'desk').getByText('never').count(), 0);
    proceed();
    await row(tab, 'desk').getByText('–', { exact: true }).waitFor({ state: 'detached' });
    assert.match(await row(tab, 'desk').innerText(), /active\s+(?:just now|\d+ s ago)/);
  });

  test('has the time of the restored snapshot after a rollback and a promotion, and says so', async () => {
    await fixture.createWorkspaces('moved', ['desk']);
    const desk = fixture.world.workspace('desk', 'moved');
    const first = await fixture.world.snapshot(await desk.sandboxId(), { label: 'first' });
    await fixture.world.rpc('workspaces/fork', { tenant: 'moved', name: 'desk', newName: 'copy' });
    await desk.exec('echo later >file');
    await fixture.world.snapshot(await desk.sandboxId(), { label: 'later' });
    await using tab = await fixture.signedIn('#/workspaces/moved');
    const saved = row(tab, 'desk').locator('td[data-name="Last saved"]');
    const time = async () => saved.locator('time').getAttribute('datetime');
    const expect = async () => {
      const { lastSavedAt, restoredFrom } = await desk.describe();
      assert.equal(lastSavedAt, restoredFrom?.createdAt);
      await until(async () => (await time()) === lastSavedAt);
      await saved.getByText(', restored').waitFor();
    };
    await saved.locator('time').waitFor();
    assert.doesNotMatch(await saved.innerText(), /restored/);
    await desk.update({ currentSnapshotId: first.ref.snapshotId });
    await expect();
    await fixture.world.rpc('workspaces/promote', { tenant: 'moved', name: 'desk', from: 'copy' });
    await expect();
  });

  test('has the time of an older save after the newest snapshot was deleted', async () => {
    await fixture.createWorkspaces('older', ['desk']);
    const desk = fixture.world.workspace('desk', 'older');
    await desk.exec('echo saved >file');
    await desk.stop();
    await desk.start();
    const { lastSavedAt = '' } = await desk.describe();
    await using tab = await fixture.signedIn();
    const earlier = new Date(Date.parse(lastSavedAt) - 3_600_000).toISOString();
    await tab.page.route('**/v1/workspaces/getByName', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ json: { ...(await response.json()), lastSavedAt: earlier } });
    });
    await tab.visit('#/workspaces/older');
    await row(tab, 'desk').locator(`td[data-name="Last saved"] time[datetime="${earlier}"]`).waitFor();
  });

  test('filters by tenant and by the beginning of the name', async () => {
    await fixture.createWorkspaces('filtered', ['alpha', 'beta-1', 'beta-2']);
    await using tab = await fixture.signedIn();
    await tab.page.getByText('No workspaces yet.').waitFor();
    await tab.field('Tenant').fill('filtered');
    await tab.field('Name begins with').fill('beta');
    await tab.button('Show').click();
    await tab.link('beta-2').waitFor();
    assert.equal(await tab.link('alpha').count(), 0);
    assert.ok(tab.page.url().endsWith('#/workspaces/filtered?prefix=beta'));
  });

  test('of a tenant without workspaces links to the workspace of this name', async () => {
    await using tab = await fixture.signedIn('#/workspaces/misplaced');
    const link = await tab.link('the workspace of this name').getAttribute('href');
    assert.equal(link, '#/workspaces/default/misplaced');
  });

  test('is shown page by page', async () => {
    await fixture.createWorkspaces('paged', ['a', 'b', 'c']);
    await using tab = await fixture.signedIn();
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

  test('shows workspaces that other users create', async () => {
    await using tab = await fixture.signedIn('#/workspaces/others');
    await tab.page.getByText('No workspaces yet.').waitFor();
    await fixture.world.workspace('new', 'others').create();
    await tab.link('new').waitFor();
  });
});

describe('a workspace', () => {
  test('is created, and its page is shown', async () => {
    await using tab = await fixture.signedIn('#/workspaces/makers');
    await tab.button('New workspace…').click();
    await tab.field('Name').fill('fresh');
    await tab.button('Create').click();
    await tab.page.getByRole('heading', { name: 'fresh', exact: true }).waitFor();
    await tab.page.getByRole('treeitem', { name: 'current running fresh' }).waitFor();
    assert.equal(await fixture.world.workspace('fresh', 'makers').state(), 'active');
  });

  test('with a taken name is refused', async () => {
    await fixture.createWorkspaces('taken', ['one']);
    await using tab = await fixture.signedIn('#/workspaces/taken');
    await tab.button('New workspace…').click();
    await tab.field('Name').fill('one');
    await tab.button('Create').click();
    assert.match(await tab.failure('NAME_TAKEN'), /one/);
  });

  test('is stopped with a snapshot, and started from it', async () => {
    await fixture.createWorkspaces('stops', ['desk']);
    const desk = fixture.world.workspace('desk', 'stops');
    await desk.exec('echo work >file');
    await using tab = await fixture.signedIn('#/workspaces/stops');
    await tab.button('Stop desk').click();
    assert.match(await tab.notice('desk is stopped'), /Its last snapshot is snap-\w+, \d/);
    await row(tab, 'desk').getByText('stopped').waitFor();
    await tab.button('Start desk').click();
    await tab.notice('desk was restored from snap-');
    await row(tab, 'desk').getByText('active').waitFor();
    assert.equal(await desk.exec('cat file'), 'work\n');
  });

  test('whose sandbox cold-started is started as the user chooses', async () => {
    await fixture.createWorkspaces('diverged', ['desk']);
    const desk = fixture.world.workspace('desk', 'diverged');
    await desk.exec('echo work >file');
    await fixture.world.snapshot(await desk.sandboxId());
    await desk.coldStart('echo other >other');
    await using tab = await fixture.signedIn('#/workspaces/diverged/desk');
    await tab.button('Check desk').click();
    await tab.failure('WORKSPACE_DIVERGED');
    await tab.button('Discard them and restore…').click();
    await tab.dialog.getByText('that were written since its sandbox cold-started').waitFor();
    await tab.button('Discard').click();
    await tab.notice('desk was restored from snap-');
    assert.equal(await desk.exec('ls'), 'file\n');
  });

  test('that is not persistent is stopped only after a confirmation', async () => {
    await fixture.world.rpc('workspaces/create', { name: 'desk', tenant: 'temporary', persistent: false });
    await using tab = await fixture.signedIn('#/workspaces/temporary');
    const calls = recordBodies(tab, 'workspaces/stop');
    await tab.button('Stop desk').click();
    await tab.dialog.getByText('a stop takes no snapshot').waitFor();
    assert.deepEqual(calls, []);
    await tab.button('Stop').click();
    await tab.notice('desk is stopped. No snapshot was taken.');
  });

  test('whose hook fails shows a notice and the output of the hook', async () => {
    await fixture.createWorkspaces('hooked', ['desk']);
    await using tab = await fixture.signedIn('#/workspaces/hooked/desk');
    const output = `line\n`.repeat(1000);
    await tab.page.route('**/v1/workspaces/start', async (route) => {
      const response = await route.fetch();
      const hookRuns = [{ hook: 'afterStart', ok: false, timedOut: false, output, exitCode: 1 }];
      await route.fulfill({ response, json: { ...(await response.json()), hookRuns } });
    });
    await tab.button('Check desk').click();
    assert.match(await tab.notice('desk was already running.'), /The hook afterStart failed\.$/);
    const shown = tab.page.getByRole('region', { name: 'Output of the hook afterStart' });
    assert.equal(await shown.locator('pre').textContent(), output);
    assert.ok(((await shown.boundingBox())?.height ?? Infinity) < 600);
  });

  test('shows only the failure of the last action', async () => {
    await fixture.createWorkspaces('last', ['desk']);
    await using tab = await fixture.signedIn('#/workspaces/last/desk');
    await failCalls(tab, 'workspaces/start', 'NOTHING_RESTORABLE', 'conflict');
    await tab.button('Check desk').click();
    await tab.failure('NOTHING_RESTORABLE');
    await tab.button('Stop desk').click();
    await tab.notice('desk is stopped');
    assert.equal(await tab.page.getByRole('alert').count(), 0);
  });

  test('shows the result of each fork if a fork fails', async () => {
    await fixture.createWorkspaces('partly-forked', ['desk', 'copy-1']);
    await using tab = await fixture.signedIn('#/workspaces/partly-forked/desk');
    await tab.button('Fork desk…').click();
    await tab.field('Name of the fork').fill('copy');
    await tab.field('Number of forks').fill('2');
    await tab.button('Fork').click();
    const forks = tab.dialog.getByRole('list', { name: 'Forks' });
    await forks.waitFor();
    assert.match(await forks.innerText(), /failed\s+copy-1\s+NAME_TAKEN.*created\s+copy-2/s);
  });

  test('is forked', async () => {
    await fixture.createWorkspaces('forks', ['desk']);
    await fixture.world.workspace('desk', 'forks').exec('echo work >file');
    await using tab = await fixture.signedIn('#/workspaces/forks/desk');
    await tab.button('Fork desk…').click();
    await tab.field('Name of the fork').fill('copy');
    await tab.button('Fork').click();
    await tab.notice('Forked: copy.');
    assert.match(
      (await tab.page.getByRole('status').getByRole('link', { name: 'copy' }).getAttribute('href')) ?? '',
      /forks\/copy$/,
    );
    await tab.page.getByRole('treeitem', { name: 'running branched copy' }).waitFor();
    assert.equal(await fixture.world.workspace('copy', 'forks').exec('cat file'), 'work\n');
  });

  test('is deleted after its name is typed, with a list of what is kept before and after', async () => {
    await fixture.createWorkspaces('ends', ['desk']);
    const desk = fixture.world.workspace('desk', 'ends');
    await desk.exec('echo work >file');
    const snapshot = await fixture.world.snapshot(await desk.sandboxId());
    const dependent = (await fixture.world.branch(snapshot)).ref.sandboxId;
    await using tab = await fixture.signedIn('#/workspaces/ends/desk');
    await tab.button('Delete desk…').click();
    assert.match(
      await tab.dialog.innerText(),
      /Permanently deleted:.*Kept:.*while other sandboxes depend on them/s,
    );
    assert.ok(await tab.button('Delete workspace').isDisabled());
    await tab.field('Type desk to confirm').fill('desk');
    await tab.button('Delete workspace').click();
    assert.ok((await tab.notice('desk was deleted')).includes(`Kept 1 snapshot for ${dependent}.`));
    await tab.page.getByText('No workspaces yet.').waitFor();
  });

  test('that is active offers no start in the list', async () => {
    await fixture.createWorkspaces('started', ['desk']);
    await using tab = await fixture.signedIn('#/workspaces/started');
    await tab.button('Stop desk').waitFor();
    assert.equal(await tab.button('Start desk').count(), 0);
  });

  test('with a snapshot that no stop took is not listed as one without snapshots', async () => {
    await fixture.createWorkspaces('by-hand', ['desk']);
    await fixture.world.snapshot(await fixture.world.workspace('desk', 'by-hand').sandboxId());
    await using tab = await fixture.signedIn('#/workspaces/by-hand');
    await tab.page.getByRole('columnheader', { name: 'Last saved' }).waitFor();
    assert.equal(await tab.page.getByText('Last snapshot').count(), 0);
  });

  test('whose container ended without a stop shows that files may be lost', async () => {
    await fixture.createWorkspaces('lossy', ['desk']);
    const desk = fixture.world.workspace('desk', 'lossy');
    await desk.exec('echo saved >file');
    await desk.stop();
    await desk.start();
    await desk.exec('echo unsaved >file');
    await desk.endContainer();
    await using tab = await fixture.signedIn('#/workspaces/lossy/desk');
    await tab.page.getByText('The container ended without a stop.').waitFor();
    const head = tab.page.locator('header.page-head');
    await head.getByText('container ended', { exact: true }).waitFor();
    assert.equal(await head.getByText('active', { exact: true }).count(), 0);
    await tab.visit('#/workspaces/lossy');
    await row(tab, 'desk').locator('.badge.bad').getByText('container ended').waitFor();
    assert.equal(await row(tab, 'desk').getByText('active', { exact: true }).count(), 0);
    await tab.visit('#/workspaces/lossy/desk');
    await tab.page.getByText('or else the one it began with').waitFor();
    await tab.button('Check desk').click();
    await tab.page.getByText('Changes that are in no snapshot may be lost.').first().waitFor();
    await tab.page.getByText('The last start restored snap-').waitFor();
    await head.getByText('active', { exact: true }).waitFor();
  });

  test('that cannot be restored is marked in the list, and shows that once on its page', async () => {
    await fixture.createWorkspaces('unsaved', ['desk', 'bench']);
    const desk = fixture.world.workspace('desk', 'unsaved');
    await desk.exec('echo unsaved >file');
    await desk.endContainer();
    await using tab = await fixture.signedIn('#/workspaces/unsaved/desk');
    await tab.button('Check desk').click();
    await tab.failure('NOTHING_RESTORABLE');
    const button = tab.button('Start empty');
    await button.waitFor();
    await tab.page.getByText('failed', { exact: true }).first().waitFor();
    assert.equal(await tab.page.getByText('NOTHING_RESTORABLE', { exact: true }).count(), 1);
    await tab.visit('#/workspaces/unsaved');
    await row(tab, 'desk').getByText('never, changes may be lost').waitFor();
    assert.doesNotMatch(await row(tab, 'bench').innerText(), /may be lost/);
    await tab.visit('#/workspaces/unsaved/desk');
    await tab.page.getByText('Press Start: the console then offers to start it without files.').waitFor();
    assert.equal(await tab.page.getByText('NOTHING_RESTORABLE', { exact: true }).count(), 1);
  });

  test('that was started empty after a loss says so on its page and in the list', async () => {
    await fixture.createWorkspaces('emptied', ['desk']);
    const desk = fixture.world.workspace('desk', 'emptied');
    await desk.exec('echo unsaved >file');
    await desk.endContainer();
    await using tab = await fixture.signedIn('#/workspaces/emptied/desk');
    await tab.button('Check desk').click();
    await tab.button('Start empty').click();
    await tab.page.getByText('The last start was empty, although the workspace had files.').waitFor();
    await tab.visit('#/workspaces/emptied');
    await row(tab, 'desk').getByText('never, started empty: files may be lost').waitFor();
  });

  test('whose container had ended before its stop shows once that nothing can be restored', async () => {
    await fixture.createWorkspaces('ended', ['desk']);
    const desk = fixture.world.workspace('desk', 'ended');
    await desk.exec('echo unsaved >file');
    await desk.endContainer();
    await desk.stop();
    await using tab = await fixture.signedIn('#/workspaces/ended/desk');
    await tab.page.getByText('No snapshot has all of its files.').waitFor();
    await tab.button('Start desk').click();
    await tab.failure('NOTHING_RESTORABLE');
    await tab.page.getByText('No snapshot has all of its files.').waitFor({ state: 'detached' });
  });

  test('whose container ended says so on the page of its files, which starts it again', async () => {
    await fixture.createWorkspaces('lossy-files', ['bench']);
    const bench = fixture.world.workspace('bench', 'lossy-files');
    await bench.stop();
    await bench.start();
    await bench.endContainer();
    await using tab = await fixture.signedIn('#/workspaces/lossy-files/bench/files');
    await tab.page.getByText('The last start restored snap-').waitFor();
    await tab.page.getByText('Changes that are in no snapshot may be lost.').waitFor();
  });

  test('that is a fork of a workspace with lost files shows that files may be lost', async () => {
    await fixture.createWorkspaces('lossy-forks', ['desk']);
    const desk = fixture.world.workspace('desk', 'lossy-forks');
    await desk.exec('echo saved >file');
    await fixture.world.rpc('workspaces/fork', { tenant: 'lossy-forks', name: 'desk', newName: 'copy' });
    const copy = await fixture.world.rpc('workspaces/getByName', { tenant: 'lossy-forks', name: 'copy' });
    await using tab = await fixture.signedIn();
    await tab.page.route('**/v1/workspaces/getByName', (route) =>
      route.fulfill({ json: { ...copy, mayHaveLost: true } }),
    );
    await tab.visit('#/workspaces/lossy-forks/copy');
    await tab.page.getByText('Changes that are in no snapshot may be lost.').waitFor();
    await tab.link('its other snapshots').waitFor();
  });

  test('that does not exist can be created', async () => {
    await using tab = await fixture.signedIn('#/workspaces/absent/desk');
    const failure = await tab.failure('WORKSPACE_NOT_FOUND');
    assert.doesNotMatch(failure, /\(\)/);
    await tab.button('Create it…').click();
    assert.equal(await tab.field('Name').inputValue(), 'desk');
    await tab.button('Create').click();
    await tab.page.getByRole('treeitem', { name: 'current running desk' }).waitFor();
  });

  test('that does not exist shows the failure once', async () => {
    await using tab = await fixture.signedIn('#/workspaces/default/missing');
    const failure = await tab.failure('WORKSPACE_NOT_FOUND');
    assert.doesNotMatch(failure, /retries automatically/);
    const response = tab.page.waitForResponse('**/v1/workspaces/getByName');
    await triggerRead(tab);
    await (await response).finished();
    await tab.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
    assert.equal(await tab.failure('WORKSPACE_NOT_FOUND'), failure, 'the failure stays the same');
  });
});

test('an unknown page says so, and leads to the workspaces', async () => {
  await using tab = await fixture.signedIn('#/bogus');
  await tab.page.getByRole('heading', { name: 'Unknown page' }).waitFor();
  await tab.page.getByText('#/bogus').waitFor();
  await tab.link('Show all workspaces').click();
  await tab.page.getByRole('heading', { name: 'Workspaces' }).waitFor();
});
