// A workspace that continues with other files, in another sandbox: those of an earlier snapshot, or of a workspace of its lineage.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { violations } from './accessibility.ts';
import { ConsoleFixture } from './browser.ts';
import { delayCalls } from './calls.ts';

const fixture = new ConsoleFixture();

/** The choice of a source that the user types. */
const ANOTHER = 'Another workspace or snapshot…';

describe('a workspace', () => {
  test('is rolled back to a snapshot in a new sandbox', async () => {
    await fixture.createWorkspaces('rolls', ['desk']);
    const desk = fixture.world.workspace('desk', 'rolls');
    await desk.exec('echo before >file');
    const former = await desk.sandboxId();
    await fixture.world.snapshot(former, { label: 'before' });
    await desk.exec('echo after >file');
    await using tab = await fixture.signedIn('#/workspaces/rolls/desk');
    await tab.node('Snapshot before').click();
    assert.equal(await tab.details.locator('button.primary').innerText(), 'Roll back…');
    await tab.button('Roll back…').click();
    await tab.dialog.getByText('The present sandbox is stopped, and its files are saved').waitFor();
    await tab.button('Roll back').click();
    await tab.notice('desk was rolled back to “before”.');
    assert.equal(await desk.exec('cat file'), 'before\n');
    assert.notEqual(await desk.sandboxId(), former);
    await tab.node(`Sandbox ${await desk.sandboxId()} current`).waitFor();
  });

  test('is rolled back to a partial snapshot after a remark about the missing files', async () => {
    await fixture.createWorkspaces('partial', ['desk']);
    const desk = fixture.world.workspace('desk', 'partial');
    await desk.exec('echo work >file; echo old >old.log');
    await fixture.world.snapshot(await desk.sandboxId(), { label: 'without logs', excludes: ['*.log'] });
    await using tab = await fixture.signedIn('#/workspaces/partial/desk');
    await tab.node('Snapshot without logs').click();
    await tab.button('Roll back…').click();
    await tab.dialog.getByText('they will be missing in the new sandbox').waitFor();
    await tab.button('Roll back').click();
    assert.doesNotMatch(await tab.notice('desk was rolled back to “without logs”.'), /may be lost/);
    assert.equal(await desk.exec('ls'), 'file\n');
  });

  test('that is promoted from a fork with lost changes does not say that its own files were not saved', async () => {
    await fixture.createWorkspaces('lost', ['desk']);
    const desk = fixture.world.workspace('desk', 'lost');
    await desk.exec('echo first >file');
    await desk.fork({ newName: 'attempt' });
    const attempt = fixture.world.workspace('attempt', 'lost');
    await attempt.exec('echo unsaved >file');
    await attempt.endContainer();
    await using tab = await fixture.signedIn('#/workspaces/lost/desk');
    await tab.button('Promote to desk…').click();
    await tab.field('Promote from').selectOption('attempt');
    await tab.button('Promote').click();
    assert.match(
      await tab.notice('desk has the files of attempt now'),
      /\. Changes of what was promoted, or earlier ones .* may be lost\. The files from before are in /,
    );
  });

  test('compares a snapshot of a former sandbox with its present files', async () => {
    await fixture.createWorkspaces('compares', ['desk']);
    const desk = fixture.world.workspace('desk', 'compares');
    await desk.exec('echo before >file');
    const { snapshotId } = await fixture.world.snapshot(await desk.sandboxId(), { label: 'before' });
    await fixture.world.rpc('workspaces/update', {
      name: 'desk',
      tenant: 'compares',
      currentSnapshotId: snapshotId,
    });
    await desk.exec('echo present >file');
    await using tab = await fixture.signedIn('#/workspaces/compares/desk');
    await tab.node('Snapshot before').click();
    await tab.button('Compare…').click();
    await tab.dialog.getByLabel('With').selectOption({ label: 'Present files of desk' });
    await tab.button('Compare').click();
    await tab.page.getByText('1 difference').waitFor();

    await tab.visit('#/workspaces/compares/desk');
    await tab.node('Snapshot before').click();
    await tab.button('Roll back…').click();
    await tab.link('Compare the snapshot with the present files').click();
    await tab.page.getByText('1 difference').waitFor();

    await desk.stop();
    await tab.visit('#/workspaces/compares/desk');
    await tab.node('Snapshot before').click();
    await tab.button('Compare…').click();
    const choices = await tab.dialog.getByLabel('With').locator('option').allInnerTexts();
    assert.ok(choices.length > 0 && choices.every((choice) => !choice.startsWith('Present')), choices.join());
  });

  test('compares a snapshot with the present files of its fork, and names both workspaces', async () => {
    await fixture.createWorkspaces('forked', ['desk']);
    const desk = fixture.world.workspace('desk', 'forked');
    await desk.exec('echo before >file');
    await fixture.world.snapshot(await desk.sandboxId(), { label: 'before' });
    await desk.fork({ newName: 'attempt' });
    await fixture.world.workspace('attempt', 'forked').exec('echo much better >file');
    await using tab = await fixture.signedIn('#/workspaces/forked/desk');
    await tab.node('Snapshot before').click();
    await tab.button('Compare…').click();
    const choices = await tab.dialog.getByLabel('With').locator('option').allInnerTexts();
    assert.deepEqual(choices.slice(0, 2), ['Present files of desk', 'Present files of attempt']);
    await tab.dialog.getByLabel('With').selectOption({ label: 'Present files of attempt' });
    await tab.button('Compare').click();
    await tab.page.getByText('1 difference').waitFor();
    await tab.page.getByText('Differences between the workspace desk and the workspace attempt').waitFor();
    await tab.page.getByRole('heading', { name: 'before → present files of attempt' }).waitFor();
    await tab.link('attempt').waitFor();
    await tab.link('before').click();
    await tab.page.getByRole('heading', { name: 'desk', exact: true }).waitFor();
    await tab.details.getByRole('heading', { name: 'before' }).waitFor();
  });

  test('says that the last save is the restored snapshot after a rollback, running or stopped', async () => {
    await fixture.createWorkspaces('saves', ['desk']);
    const desk = fixture.world.workspace('desk', 'saves');
    await desk.exec('echo before >file');
    const { snapshotId } = (await fixture.world.snapshot(await desk.sandboxId(), { label: 'before' })).ref;
    await desk.exec('echo after >file');
    await desk.update({ currentSnapshotId: snapshotId });
    await using tab = await fixture.signedIn('#/workspaces/saves/desk');
    const saved = tab.page.locator('dl > div').filter({ hasText: 'Last saved' });
    await saved.getByText('in the restored snapshot; changes since the restore are not saved yet').waitFor();
    await fixture.world.snapshot(await desk.sandboxId(), { label: 'later' });
    await tab.node('Snapshot later').waitFor();
    await saved.getByText('in the restored snapshot').waitFor({ state: 'detached' });
    await desk.stop();
    await desk.update({ currentSnapshotId: snapshotId });
    await saved.getByText('which the next start restores').waitFor();
    await saved.getByRole('link', { name: `before (${snapshotId})` }).waitFor();
  });

  test('names the snapshot that it continues from, also if that was deleted, without a failed request', async () => {
    await fixture.createWorkspaces('deletes', ['desk']);
    const desk = fixture.world.workspace('desk', 'deletes');
    const taken = await fixture.world.snapshot(await desk.sandboxId(), { label: 'source' });
    const { snapshotId } = taken.ref;
    await desk.update({ currentSnapshotId: snapshotId });
    await using tab = await fixture.signedIn('#/workspaces/deletes/desk');
    await tab.link(`source (${snapshotId})`).waitFor();
    await fixture.world.rpc('delete', { ref: taken, force: true });
    await using later = await fixture.signedIn('#/workspaces/deletes/desk');
    await later.link(new RegExp(snapshotId)).first().waitFor();
    await later.page.getByRole('treeitem').first().waitFor();
    const read = [...tab.requests, ...later.requests].filter((url) => url.endsWith('/v1/get'));
    assert.deepEqual(read, []);
    assert.deepEqual(
      later.logged.filter((text) => text.includes('404')),
      [],
    );
  });

  test('is promoted from a fork, and from a snapshot of a fork in its lineage', async () => {
    await fixture.createWorkspaces('promotes', ['desk']);
    const desk = fixture.world.workspace('desk', 'promotes');
    await desk.exec('echo first >file');
    await desk.fork({ newName: 'attempt' });
    const attempt = fixture.world.workspace('attempt', 'promotes');
    await attempt.exec('echo better >file');
    await using tab = await fixture.signedIn('#/workspaces/promotes/desk');
    await tab.button('Promote to desk…').click();
    const source = tab.field('Promote from');
    await source.getByRole('option', { name: 'Workspace attempt' }).waitFor({ state: 'attached' });
    assert.equal(await source.inputValue(), '', 'nothing is preselected');
    await tab.button('Promote').click();
    assert.equal(await source.getAttribute('aria-invalid'), 'true', 'a choice is required');
    await tab.dialog.getByRole('alert').waitFor();
    await source.selectOption('attempt');
    assert.equal(await tab.field('Workspace or snapshot').count(), 0);
    await tab.button('Promote').click();
    await tab.page.getByText('desk has the files of attempt now').waitFor();
    const { formerSnapshotId = '' } = await fixture.world.rpc('workspaces/getByName', {
      name: 'desk',
      tenant: 'promotes',
    });
    await tab.page
      .getByRole('status')
      .getByText(new RegExp(`The files from before are in .*${formerSnapshotId}`))
      .waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await tab.page.emulateMedia({ colorScheme });
      assert.deepEqual(await violations(tab, { runOnly: ['color-contrast'] }), [], colorScheme);
    }
    await tab.link(new RegExp(formerSnapshotId)).first().click();
    await tab.details.getByText('before promotion').waitFor();
    assert.equal(await desk.exec('cat file'), 'better\n');

    await attempt.exec('echo best >file');
    await fixture.world.snapshot(await attempt.sandboxId(), { label: 'best' });
    await tab.button('Refresh').click();
    await tab.node('Snapshot best').click();
    await tab.button('Promote…').click();
    await tab.button('Promote').click();
    await tab.page.getByText('desk has the files of snap-').waitFor();
    assert.equal(await desk.exec('cat file'), 'best\n');
  });

  test('that is a fork is rolled back to an earlier snapshot of its parent, and not to a later one', async () => {
    await fixture.createWorkspaces('parent', ['desk']);
    const desk = fixture.world.workspace('desk', 'parent');
    await desk.exec('echo before >file');
    await fixture.world.snapshot(await desk.sandboxId(), { label: 'before' });
    await desk.exec('echo after >file');
    await desk.fork({ newName: 'attempt' });
    await fixture.world.snapshot(await desk.sandboxId(), { label: 'later' });
    const attempt = fixture.world.workspace('attempt', 'parent');
    await using tab = await fixture.signedIn('#/workspaces/parent/attempt');
    await tab.node('Snapshot later').click();
    await tab.button('Promote…').waitFor();
    assert.equal(await tab.button('Roll back…').count(), 0);
    await tab.node('Snapshot before').click();
    await tab.button('Roll back…').click();
    await tab.dialog.getByText(/“before”, taken .* ago, of desk\./).waitFor();
    await tab.button('Roll back').click();
    await tab.page.getByText('attempt was rolled back to “before”').waitFor();
    assert.equal(await attempt.exec('cat file'), 'before\n');
  });

  test('is promoted from a snapshot that is selected in a list, also without another workspace', async () => {
    await fixture.createWorkspaces('suggests', ['desk']);
    const desk = fixture.world.workspace('desk', 'suggests');
    await desk.exec('echo first >file');
    const { ref } = await fixture.world.snapshot(await desk.sandboxId(), { label: 'first' });
    await desk.exec('echo later >file');
    await using tab = await fixture.signedIn('#/workspaces/suggests/desk');
    await tab.button('Promote to desk…').click();
    const choice = tab.dialog.locator(`option[value="${ref.snapshotId}"]`);
    await choice.waitFor({ state: 'attached' });
    assert.match((await choice.textContent()) ?? '', /^first, /);
    await tab.field('Promote from').selectOption(ref.snapshotId);
    await tab.button('Promote').click();
    await tab.notice(`desk has the files of ${ref.snapshotId} now`);
    assert.equal(await desk.exec('cat file'), 'first\n');
  });

  test('is promoted from what was typed before the other workspaces were known', async () => {
    await fixture.createWorkspaces('types', ['desk']);
    const desk = fixture.world.workspace('desk', 'types');
    await desk.exec('echo first >file');
    await desk.fork({ newName: 'attempt', count: 2 });
    await using tab = await fixture.signedIn('#/workspaces/types/desk');
    const promote = tab.button('Promote to desk…');
    await promote.waitFor();
    const answer = await delayCalls(tab, 'workspaces/getByName');
    await promote.click();
    await tab.field('Promote from').selectOption(ANOTHER);
    await tab.field('Workspace or snapshot').fill('attempt-2');
    answer();
    await tab.dialog.getByRole('option', { name: 'Workspace attempt-1' }).waitFor({ state: 'attached' });
    assert.equal(await tab.field('Workspace or snapshot').inputValue(), 'attempt-2');
    await tab.button('Promote').click();
    await tab.page.getByText('desk has the files of attempt-2 now').waitFor();
  });

  test('without another workspace in its lineage is promoted from what the user types', async () => {
    await fixture.createWorkspaces('alone', ['desk']);
    await using tab = await fixture.signedIn('#/workspaces/alone/desk');
    await tab.button('Promote to desk…').click();
    await tab.field('Workspace or snapshot').waitFor();
    assert.deepEqual(await tab.dialog.getByRole('option').allInnerTexts(), [ANOTHER]);
  });

  test('is promoted from a workspace that is named as on the command line, and from a label of its own', async () => {
    await fixture.createWorkspaces('at', ['desk']);
    const desk = fixture.world.workspace('desk', 'at');
    await desk.exec('echo first >file');
    await fixture.world.rpc('snapshot', { name: 'desk', tenant: 'at', label: 'before the import' });
    await desk.fork({ newName: 'attempt' });
    await using tab = await fixture.signedIn('#/workspaces/at/desk');
    await tab.button('Promote to desk…').click();
    const source = tab.field('Workspace or snapshot');
    await tab.field('Promote from').selectOption(ANOTHER);
    for (const [text, code] of [
      ['before import', 'SNAPSHOT_NOT_FOUND'],
      ['missing', 'WORKSPACE_NOT_FOUND'],
      ['@other/attempt', 'SNAPSHOT_NOT_FOUND'],
    ] as const) {
      await source.fill(text);
      await tab.button('Promote').click();
      assert.match(await tab.failure(code), /label/);
    }
    for (const [text, from] of [
      ['@attempt', 'attempt'],
      ['@at/attempt', 'attempt'],
      ['before the import', 'before the import'],
    ] as const) {
      await source.fill(text);
      await tab.button('Promote').click();
      await tab.notice(`desk has the files of ${from} now`);
      await tab.button('Promote to desk…').click();
      await tab.field('Promote from').selectOption(ANOTHER);
    }
  });
});
