// Tests of the deletion of snapshots.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';

import type { TakenSnapshot } from '../../client/src/index.ts';
import { ConsoleFixture } from './browser.ts';
import { failCalls, recordBodies } from './calls.ts';

const fixture = new ConsoleFixture();
let origins = 0;
let origin: string;
let base: TakenSnapshot;

beforeEach(async () => {
  origin = `origin-${++origins}`;
  await fixture.world.exec(origin, 'echo x >file');
  base = await fixture.world.snapshot(origin, { label: 'base' });
});

describe('a deletion', () => {
  test('needs a confirmation', async () => {
    await using tab = await fixture.atSnapshot(base);
    const calls = recordBodies(tab, 'delete');
    await tab.button('Delete…').click();
    await tab.dialog.waitFor();
    await tab.page.keyboard.press('Escape');
    await tab.dialog.waitFor({ state: 'detached' });
    assert.equal(await tab.evaluate('document.activeElement.innerText'), 'Delete…');
    assert.deepEqual(calls, []);
    await tab.button('Delete…').click();
    await tab.button('Delete').click();
    await tab.notice('was deleted');
    await tab.node('Snapshot base').waitFor({ state: 'detached' });
    assert.deepEqual(await fixture.world.labels(origin), []);
  });

  test('of a snapshot with dependents needs two confirmations', async () => {
    const dependent = (await fixture.world.branch(base)).ref.sandboxId;
    await using tab = await fixture.atSnapshot(base);
    const calls = recordBodies(tab, 'delete');
    const reason =
      /can’t be deleted.*1 sandbox depends on it: take a snapshot of each sandbox that depends on it/;
    await tab.details.getByText(reason).waitFor();
    assert.ok(await tab.button('Delete…').isDisabled());
    await tab.button('Delete anyway…').click();
    assert.equal(await tab.dialog.getByRole('list', { name: 'Dependents' }).innerText(), dependent);
    await tab.dialog.getByText(reason).waitFor();
    assert.ok(await tab.button('Delete').isDisabled());
    await tab.field('Delete anyway').check();
    await tab.button('Force delete').click();
    await tab.notice('was deleted');
    await tab.node(`Snapshot ${base.ref.snapshotId} deleted`).waitFor();
    assert.deepEqual(
      calls.map(({ force }) => force),
      [true],
    );
  });

  test('of a pinned snapshot is disabled until it is unpinned', async () => {
    await using tab = await fixture.atSnapshot(base);
    await tab.button('Pin').click();
    await tab.details.getByText(/can’t be deleted, because it is pinned: unpin it first/).waitFor();
    assert.ok(await tab.button('Delete…').isDisabled());
    await tab.button('Unpin').click();
    await tab.button('Pin').waitFor();
    assert.ok(await tab.button('Delete…').isEnabled());
  });

  test('that the Worker refuses needs a second confirmation', async () => {
    await using tab = await fixture.atSnapshot(base);
    await failCalls(tab, 'delete', 'SNAPSHOT_HAS_DEPENDENTS', 'conflict');
    await tab.button('Delete…').click();
    assert.equal(await tab.field('Delete anyway').count(), 0);
    await tab.button('Delete').click();
    const failure = await tab.failure('SNAPSHOT_HAS_DEPENDENTS');
    assert.match(failure, /take a snapshot of each sandbox that depends on it/);
    await tab.field('Delete anyway').check();
    await tab.button('Force delete').waitFor();
  });

  test('needs the second confirmation again after the snapshot changed', async () => {
    await fixture.world.branch(base);
    await using tab = await fixture.atSnapshot(base);
    await tab.button('Delete anyway…').click();
    await tab.field('Delete anyway').check();
    await fixture.world.rpc('pin', { ref: base });
    await tab.dialog.getByText('because it is pinned').waitFor();
    assert.ok(!(await tab.field('Delete anyway').isChecked()));
    await tab.button('Delete').waitFor();
  });
});
