// Tests of the settings and of the snapshots of a named workspace in the console.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { violations } from './accessibility.ts';
import { ConsoleFixture } from './browser.ts';
import { recordBodies } from './calls.ts';

const fixture = new ConsoleFixture();

describe('a workspace', () => {
  test('marks its automatic snapshots, and shows when it takes them', async () => {
    const { sandboxId } = await fixture.world.rpc('workspaces/create', {
      name: 'desk',
      tenant: 'automatic',
      autosave: { everySeconds: 300 },
    });
    await fixture.world.workspace('desk', 'automatic').exec('echo work >file');
    const { ref } = await fixture.world.snapshot(sandboxId, { label: 'saved' });
    await using tab = await fixture.signedIn('#/workspaces/automatic');
    await tab.page.route('**/v1/lineage', async (route) => {
      const response = await route.fetch();
      const tree = await response.json();
      for (const snapshot of tree.root.snapshots) snapshot.cause = 'autosave';
      await route.fulfill({ response, json: tree });
    });
    await tab.visit('#/workspaces/automatic/desk');
    await tab.page.getByText('and by automatic snapshots every 5 min if files changed').waitFor();
    await tab.node('Snapshot saved automatic').click();
    await tab.details.getByText('automatic', { exact: true }).waitFor();
    await tab.details.getByText(ref.snapshotId).waitFor();
  });

  test('shows its settings and its history', async () => {
    await fixture.world.rpc('workspaces/create', {
      name: 'desk',
      tenant: 'history',
      expiry: { idleSeconds: 7200 },
      env: { EDITOR: 'vi' },
      hooks: { beforeStop: { command: 'git stash', onFailure: 'warn' } },
      retention: { keepLast: { count: 3 } },
    });
    await using tab = await fixture.signedIn('#/workspaces/history/desk');
    await tab.page.getByText('Settings and history').click();
    const settings = await tab.page.locator('details.more').first().innerText();
    for (const expected of ['2 h after the last activity', 'EDITOR', 'git stash', 'the newest 3', 'never'])
      assert.ok(settings.includes(expected), `${expected} in ${settings}`);
    assert.match(await tab.page.getByRole('list', { name: 'History' }).innerText(), /active.*provisioning/s);
  });

  test('changes the settings that differ, and keeps the others', async () => {
    await fixture.world.rpc('workspaces/create', {
      name: 'desk',
      tenant: 'changes',
      expiry: { idleSeconds: 7200 },
      dependsOn: { fingerprint: 'one' },
    });
    await using tab = await fixture.signedIn('#/workspaces/changes/desk');
    await tab.page.getByText('Settings and history').click();
    await tab.button('Change settings…').click();
    assert.deepEqual(await violations(tab, {}), []);
    assert.equal(await tab.dialog.locator('button.primary').getAttribute('aria-disabled'), 'true');
    await tab.field('Stops when idle for, amount').fill('3');
    await tab.field('Saves automatically every').selectOption('minutes');
    await tab.field('Saves automatically every, amount').fill('5');
    await tab.field('Automatic snapshots to keep').fill('8');
    await tab.field('If a start finds another image').selectOption('fail');
    const calls = recordBodies(tab, 'workspaces/update');
    await tab.button('Save').click();
    await tab.notice('The settings of desk were changed.');
    assert.deepEqual(Object.keys(calls[0]).sort(), ['autosave', 'dependsOn', 'expiry', 'name', 'tenant']);
    await tab.page.getByText('every 5 min if files changed; the newest 8 stay').waitFor();
    const { expiry, dependsOn, autosave } = await fixture.world.workspace('desk', 'changes').describe();
    assert.deepEqual([expiry.idleSeconds, expiry.maxSeconds], [3 * 3600, 0]);
    assert.deepEqual([autosave.everySeconds, autosave.keepLast], [300, 8]);
    assert.deepEqual([dependsOn.fingerprint, dependsOn.onImageChange], ['one', 'fail']);
  });

  test('lists the snapshots of its present and its former sandboxes, newest first', async () => {
    const desk = fixture.world.workspace('desk', 'flat');
    await desk.create();
    const former = await desk.sandboxId();
    const { ref } = await fixture.world.snapshot(former, { label: 'first' });
    await fixture.world.rpc('workspaces/update', {
      name: 'desk',
      tenant: 'flat',
      currentSnapshotId: ref.snapshotId,
    });
    await fixture.world.snapshot(await desk.sandboxId(), { label: 'second' });
    await using tab = await fixture.signedIn('#/workspaces/flat/desk');
    await tab.button('Show as a list').click();
    const list = tab.page.getByRole('list', { name: 'Snapshots, newest first' });
    const links = await list.getByRole('link').allInnerTexts();
    assert.deepEqual([links[0], links.at(-1)], ['second', 'first']);
    assert.deepEqual(await violations(tab, {}), []);
    const origin = list.getByText('of a former sandbox').last();
    assert.equal(await origin.getAttribute('title'), former);
    await list.getByRole('listitem').filter({ hasText: 'first' }).getByText('of a former sandbox').waitFor();
    const second = list.getByRole('listitem').filter({ hasText: 'second' });
    assert.doesNotMatch(await second.innerText(), /former/);
    await tab.link('first').click();
    await tab.details.getByText(ref.snapshotId).waitFor();
    await tab.button('Show as a tree').click();
    await tab.node('Snapshot first').waitFor();
  });

  test('shortens runs of similar snapshots and changes, and opens them on request', async () => {
    await fixture.createWorkspaces('runs', ['desk']);
    const desk = fixture.world.workspace('desk', 'runs');
    const { ref } = await fixture.world.snapshot(await desk.sandboxId(), { label: 'first' });
    for (let round = 0; round < 5; round += 1) {
      await desk.exec(`echo ${round} >file`);
      await desk.update({ currentSnapshotId: ref.snapshotId });
    }
    await using tab = await fixture.signedIn('#/workspaces/runs/desk');
    await tab.button('Show as a list').click();
    const list = tab.page.getByRole('list', { name: 'Snapshots, newest first' });
    await list.getByText(/^4 more before rollback, /).click();
    assert.equal(await list.getByRole('link').count(), 6);
    assert.match((await list.locator('.bar').first().getAttribute('title')) ?? '', /kB$/);
    await tab.page.getByText('Bars show the bytes').waitFor();
    await tab.page.getByText('Settings and history').click();
    await tab.page.getByText(/^9 more with this cause, since /).click();
    const history = tab.page.getByRole('list', { name: 'History' });
    assert.equal(await history.getByText('it was rolled back to the snapshot').count(), 10);
    assert.deepEqual(await violations(tab, {}), []);
  });
});
