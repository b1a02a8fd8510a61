// A workspace continues with the files of another workspace, or of a snapshot, of its lineage.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';

import { World } from '../world.ts';

const world = await World.start();
after(() => world[Symbol.asyncDispose]());

/** Creates a workspace with forks, each with a file of its own. */
async function forked(name: string, count: number) {
  const workspace = world.workspace(name);
  await workspace.create({ env: { KIND: 'target' } });
  await workspace.exec('echo first > file');
  const { forks } = await workspace.fork({ newName: `${name}-try`, count });
  const tries = forks.map((fork) => world.workspace(fork.name));
  await Promise.all(
    tries.map((fork) => fork.exec(`echo ${fork.name} > file; mkdir -p deep; echo x > deep/new`)),
  );
  return { workspace, tries };
}

describe('a promoted workspace', () => {
  test('has the files of the best of three forks, and can move back', async () => {
    const { workspace, tries } = await forked('best', 3);
    await workspace.exec('echo unsaved > file');
    const before = await workspace.describe();
    const promoted = await workspace.promote({ from: tries[1]!.name });
    assert.equal(await workspace.exec('cat file deep/new'), `${tries[1]!.name}\nx\n`);
    assert.deepEqual([promoted.state, promoted.mayHaveLost], ['active', false]);
    assert.deepEqual([promoted.envNames, promoted.createdAt], [['KIND'], before.createdAt]);
    assert.equal(promoted.formerSandboxIds[0], before.sandboxId);
    assert.equal(await tries[1]!.exec('cat file'), `${tries[1]!.name}\n`, 'the source stays as it is');

    const { snapshots } = await world.rpc('list', { sandboxId: before.sandboxId });
    const saved = snapshots.filter(({ cause }: { cause: string }) => cause === 'beforePromotion');
    assert.deepEqual(
      saved.map(({ snapshotId }: { snapshotId: string }) => snapshotId),
      [promoted.formerSnapshotId],
    );
    await workspace.update({ currentSnapshotId: promoted.formerSnapshotId });
    assert.equal(await workspace.exec('cat file'), 'unsaved\n');
    await Promise.all([workspace, ...tries].map((each) => each.delete()));
  });

  test('keeps the files after its source is deleted, stopped or not', async () => {
    const { workspace, tries } = await forked('kept', 1);
    await workspace.stop();
    const { lastSnapshot } = await tries[0]!.stop();
    assert.equal((await workspace.promote({ from: tries[0]!.name })).state, 'stopped');
    await tries[0]!.delete();
    const started = await workspace.start();
    assert.deepEqual(
      [started.how, started.restoredFrom?.snapshotId, started.mayHaveLost],
      ['restored', lastSnapshot?.id, false],
    );
    assert.equal(await workspace.exec('cat file'), `${tries[0]!.name}\n`);
    await workspace.delete();
  });

  test('keeps its last snapshot, so that it starts again after its source was deleted', async () => {
    const { workspace, tries } = await forked('last', 1);
    await workspace.promote({ from: tries[0]!.name });
    const { snapshotId } = await world.rpc('snapshot', { name: 'last', label: 'only', fresh: true });
    const error = await world.failure(world.rpc('delete', { name: 'last', label: 'only' }));
    assert.equal(error.code, 'SNAPSHOT_HAS_DEPENDENTS');
    assert.match(error.message, /is the only one that the workspace "last" can start from/);
    await tries[0]!.delete();
    await world.kill(await workspace.sandboxId());
    assert.equal((await workspace.start()).restoredFrom?.snapshotId, snapshotId);
    assert.equal(await workspace.exec('cat file'), `${tries[0]!.name}\n`);
    await workspace.delete();
  });

  test('is promoted once for each idempotency key', async () => {
    const { workspace, tries } = await forked('once', 1);
    const options = { from: tries[0]!.name, idempotencyKey: 'k' };
    const { sandboxId } = await workspace.promote(options);
    await workspace.exec('echo later > file');
    assert.equal((await workspace.promote(options)).sandboxId, sandboxId);
    assert.equal(await workspace.exec('cat file'), 'later\n');
    await Promise.all([workspace, ...tries].map((each) => each.delete()));
  });
});

test('update accepts the snapshot of a fork', async () => {
  const { workspace, tries } = await forked('updated', 1);
  const { lastSnapshot } = await tries[0]!.stop();
  await workspace.update({ currentSnapshotId: lastSnapshot!.id });
  assert.equal(await workspace.exec('cat file'), `${tries[0]!.name}\n`);
  await Promise.all([workspace, ...tries].map((each) => each.delete()));
});

test('promote refuses another lineage, another tenant and another directory', async () => {
  const { workspace, tries } = await forked('refused', 1);
  const stranger = world.workspace('stranger');
  await stranger.create();
  await stranger.exec('echo strange > file');
  const foreign = world.workspace('foreign', 'rival');
  const { ref } = await world.snapshot(await tries[0]!.sandboxId());
  await foreign.create();
  const refusal = async (from: string) => (await world.failure(workspace.promote({ from }))).code;
  assert.equal(await refusal('stranger'), 'OTHER_LINEAGE');
  assert.equal(await refusal('foreign'), 'WORKSPACE_NOT_FOUND');
  assert.equal(await refusal('snap-abcdefghij012345'), 'SNAPSHOT_NOT_FOUND');
  assert.equal(await refusal('refused'), 'INVALID_ARGUMENT');
  await tries[0]!.exec('mkdir -p part; echo x > part/file');
  const part = await world.snapshot(await tries[0]!.sandboxId(), { dir: '/workspace/part' });
  assert.equal(await refusal(part.ref.snapshotId), 'OTHER_DIRECTORY');
  assert.equal(await workspace.exec('cat file'), 'first\n');
  await workspace.promote({ from: ref.snapshotId });
  assert.equal(await workspace.exec('cat file'), `${tries[0]!.name}\n`);
  await Promise.all([workspace, stranger, foreign, ...tries].map((each) => each.delete()));
});
