// Tests of the sandboxes of a named workspace in the console: the present one, former ones, and their snapshots in the tree.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { until } from '../world.ts';
import { ConsoleFixture } from './browser.ts';
import { recordBodies, triggerRead } from './calls.ts';

const fixture = new ConsoleFixture();

describe('a workspace', () => {
  test('links to the snapshot that it was restored from, also to one of a former sandbox', async () => {
    await fixture.createWorkspaces('linked', ['desk']);
    const desk = fixture.world.workspace('desk', 'linked');
    const former = await desk.sandboxId();
    await desk.exec('echo first >file');
    const first = (await desk.stop()).lastSnapshot?.id ?? '';
    await desk.start();
    await desk.exec('echo second >file');
    await desk.stop();
    await fixture.world.rpc('workspaces/update', {
      name: 'desk',
      tenant: 'linked',
      currentSnapshotId: first,
    });
    await desk.start();
    await using tab = await fixture.signedIn('#/workspaces/linked/desk');
    await tab.link(new RegExp(first)).first().click();
    await tab.details.getByText(`Snapshot of ${former}`).waitFor();
    await tab.details.getByText('Capture and storage').waitFor();
    await tab.visit('#/workspaces/linked/desk');
    await tab.page.getByText('Settings and history').click();
    await tab.page.getByRole('list', { name: 'History' }).getByRole('link', { name: first }).first().click();
    await tab.details.getByText(`Snapshot of ${former}`).waitFor();
  });

  test('marks its former sandboxes, and not its present one', async () => {
    await fixture.createWorkspaces('former', ['desk']);
    const desk = fixture.world.workspace('desk', 'former');
    const former = await desk.sandboxId();
    await desk.exec('echo first >file');
    const { lastSnapshot } = await desk.stop();
    const options = { name: 'desk', tenant: 'former', currentSnapshotId: lastSnapshot?.id };
    await fixture.world.rpc('workspaces/update', options);
    await desk.start();
    const present = await desk.sandboxId();
    assert.notEqual(present, former);
    await using tab = await fixture.signedIn('#/workspaces/former/desk');
    await tab.node(`Sandbox ${former} ended former sandbox of desk`).click();
    await tab.details.getByText('Former sandbox of').waitFor();
    await tab.node(`Sandbox ${present} current running restored desk`).waitFor();
  });

  test('that is stopped shows why its only copy cannot be deleted', async () => {
    await fixture.createWorkspaces('only', ['desk']);
    await fixture.world.workspace('desk', 'only').exec('echo work >file');
    const { lastSnapshot } = await fixture.world.workspace('desk', 'only').stop();
    await using tab = await fixture.signedIn('#/workspaces/only/desk');
    await tab.node('Snapshot').click();
    await tab.details.getByText(lastSnapshot?.id ?? 'none').waitFor();
    await tab.details
      .getByText('nothing would remain to restore the stopped workspace desk from: start it first')
      .waitFor();
    assert.ok(await tab.button('Delete…').isDisabled());
  });

  test('that is stopped shows where its files are, and offers no snapshot of its ended sandbox', async () => {
    await fixture.createWorkspaces('saved', ['desk']);
    await fixture.world.workspace('desk', 'saved').exec('echo work >file');
    const { lastSnapshot } = await fixture.world.workspace('desk', 'saved').stop();
    await using tab = await fixture.signedIn('#/workspaces/saved/desk');
    const saved = tab.details.getByRole('link', { name: lastSnapshot?.id ?? 'none' });
    await saved.waitFor();
    assert.equal(await tab.details.getByRole('button', { name: 'Take a snapshot…' }).count(), 0);
    await saved.click();
    await tab.details
      .getByText('nothing would remain to restore the stopped workspace desk from: start it first')
      .waitFor();
  });

  test('begins at its top, and has a selected node below the first screen in view', async () => {
    await fixture.createWorkspaces('low', ['desk']);
    const sandboxId = await fixture.world.workspace('desk', 'low').sandboxId();
    const snapshots = [...Array(60).keys()].map((at) => ({
      snapshotId: `snap-${at}`,
      state: 'ready',
      pinned: false,
      dependents: [],
      derived: at === 59 ? [{ sandboxId, running: true, snapshots: [] }] : [],
    }));
    await using tab = await fixture.signedIn();
    await tab.page.route('**/v1/lineage', (route) =>
      route.fulfill({ json: { root: { sandboxId: 'first', snapshots }, sandboxes: 2, truncated: false } }),
    );
    await tab.visit('#/workspaces/low/desk');
    await tab.node(`Sandbox ${sandboxId} current running`).waitFor();
    assert.equal(await tab.evaluate('scrollY'), 0);
    await tab.visit(`#/workspaces/low/desk?sandbox=${sandboxId}`);
    await until(async () => {
      const { y, height } = (await tab.node(`Sandbox ${sandboxId} current running`).boundingBox()) ?? {};
      const screen = tab.page.viewportSize()?.height;
      return y! >= 0 && y! + height! <= screen!;
    });
  });

  test('that another user stopped has no running sandbox in the tree', async () => {
    await fixture.createWorkspaces('stopped-elsewhere', ['desk']);
    const desk = fixture.world.workspace('desk', 'stopped-elsewhere');
    const sandboxId = await desk.sandboxId();
    await using tab = await fixture.signedIn('#/workspaces/stopped-elsewhere/desk');
    await tab.node(`Sandbox ${sandboxId} current running`).waitFor();
    const calls = recordBodies(tab, 'lineage');
    await desk.stop();
    await triggerRead(tab);
    await tab.node(`Sandbox ${sandboxId} current ended`).waitFor();
    assert.ok(calls.every(({ check }) => !check));
  });

  test('that was deleted is not shown in the tree', async () => {
    await fixture.createWorkspaces('gone', ['desk']);
    const desk = fixture.world.workspace('desk', 'gone');
    const sandboxId = await desk.sandboxId();
    await desk.exec('echo work >file');
    const snapshot = await fixture.world.snapshot(sandboxId, { label: 'kept' });
    await fixture.world.rpc('pin', { ref: snapshot });
    await using tab = await fixture.atSandbox(sandboxId);
    await tab.node(`Sandbox ${sandboxId} current running desk`).waitFor();
    await fixture.world.rpc('workspaces/delete', { name: 'desk', tenant: 'gone' });
    await tab.button('Refresh').click();
    await tab.node(`Sandbox ${sandboxId} current ended`).waitFor();
    assert.equal(await tab.page.getByText('desk', { exact: true }).count(), 0);
    await until(
      async () => (await fixture.world.rpc('workspaces/list', { tenant: 'gone' })).workspaces.length === 0,
    );
    const calls = recordBodies(tab, 'workspaces/getByName');
    const response = tab.page.waitForResponse('**/v1/workspaces/list');
    await tab.button('Refresh').click();
    await (await response).finished();
    await tab.page.getByText('Updated just now').waitFor();
    assert.deepEqual(calls, [], 'the deleted workspace is not asked for');
  });
});
