// Deletion: the name is free at once, and snapshots are removed as soon as no other workspace needs them.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { until, World } from '../world.ts';
import { CallInterceptor, isArchiving, isUnpacking } from './calls.ts';
import type { NamedWorkspace } from './named.ts';
import type { SnapshotRef } from '../../client/src/index.ts';

const calls = new CallInterceptor();
let world: World;
let count = 0;
let workspace: NamedWorkspace;
let ref: SnapshotRef;
let objectsBefore: string[];
let running: string[];

before(async () => {
  world = await World.start({ onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

/** Creates a running workspace with one snapshot, and records the objects and sandboxes that existed before. */
beforeEach(async () => {
  calls.reset();
  [objectsBefore, running] = [await world.objects(), world.running()];
  workspace = world.workspace(`agent-${++count}`);
  await workspace.create();
  await workspace.exec('echo x > file');
  ref = await world.snapshot(await workspace.sandboxId());
});

/** Creates another workspace. */
async function createOther() {
  const other = world.workspace(`${workspace.name}-other`);
  await other.create();
  return other;
}

/** Returns the number of snapshots in R2 that did not exist before the test. */
const stored = async () => (await world.objects()).filter((key) => !objectsBefore.includes(key)).length / 2;

const code = async (call: Promise<unknown>) => (await world.failure(call)).code;

describe('a deleted workspace', () => {
  test('leaves no sandbox, no snapshot and no name', async () => {
    const { sandboxId } = await workspace.describe();
    await world.snapshot(sandboxId);
    assert.equal(await stored(), 2);
    const deleted = await workspace.delete();
    assert.deepEqual([deleted.removed, deleted.removedSnapshots], [true, 2]);
    assert.deepEqual([deleted.kept, deleted.pending], [[], []]);
    assert.deepEqual([await stored(), world.running()], [0, running]);
    assert.equal(await code(workspace.describe()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(workspace.start()), 'WORKSPACE_NOT_FOUND');
    assert.deepEqual((await world.list(sandboxId)).snapshots, []);
  });

  test('that was stopped leaves nothing either', async () => {
    await workspace.stop();
    assert.equal((await workspace.delete()).removedSnapshots, 2);
    assert.deepEqual([await stored(), world.running()], [0, running]);
  });

  test('can be deleted again without effect', async () => {
    assert.equal((await workspace.delete()).removed, true);
    const again = await workspace.delete();
    assert.deepEqual([again.removed, again.removedSnapshots], [false, 0]);
  });

  test('is deleted once by many concurrent calls', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => workspace.delete()));
    assert.equal(answers.filter(({ removed }) => removed).length, 1);
    assert.equal(await stored(), 0);
  });

  test('is gone after a start or stop in progress has ended', async () => {
    let blocked = calls.block(isArchiving);
    const stop = workspace.stop();
    await blocked.reached;
    const [deleted] = [workspace.delete(), blocked.release()];
    assert.deepEqual([(await stop).state, (await deleted).removed], ['stopped', true]);
    assert.deepEqual([await stored(), world.running()], [0, running]);

    await workspace.create({ sourceWorkspace: (await createOther()).name });
    await workspace.stop();
    blocked = calls.block(isUnpacking);
    const start = workspace.start();
    await blocked.reached;
    const [again] = [workspace.delete(), blocked.release()];
    assert.deepEqual([(await start).how, (await again).removed], ['restored', true]);
    assert.equal(await code(workspace.describe()), 'WORKSPACE_NOT_FOUND');
  });

  test('leaves no former sandbox and no snapshot after a rollback', async () => {
    await workspace.update({ currentSnapshotId: ref.ref.snapshotId });
    await workspace.stop();
    assert.equal((await workspace.delete()).removedSnapshots, 3);
    assert.deepEqual([await stored(), world.running()], [0, running]);
  });

  test('can be created again, and is empty then', async () => {
    const before = await workspace.sandboxId();
    await workspace.delete();
    const { how, sandboxId, lastSnapshot, formerSandboxIds } = await workspace.create();
    assert.deepEqual([how, lastSnapshot, formerSandboxIds], ['empty', undefined, []]);
    assert.notEqual(sandboxId, before);
    assert.equal(await workspace.exec('ls -A'), '');
  });

  test('leaves a sandbox that cannot be captured after a cold start', async () => {
    const id = await workspace.sandboxId();
    await workspace.delete();
    await until(() =>
      world.exec(id, 'echo x > file').then(
        () => true,
        () => false,
      ),
    );
    for (const options of [{}, { wake: true }]) {
      assert.equal(await code(world.snapshot(id, options)), 'WORKSPACE_NOT_FOUND');
    }
    await world.sandbox(id, 'destroy');
  });
});

test('a sweep deletes nothing of existing and deleted workspaces', async () => {
  await workspace.stop();
  const { forks } = await workspace.fork();
  const deleted = world.workspace(`${workspace.name}-deleted`);
  await deleted.create({ sourceWorkspace: forks[0]!.name });
  await deleted.delete();
  const objects = await world.objects();
  const swept = await world.rpc('sweep', { graceSeconds: 0 });
  assert.deepEqual([swept.deleted, swept.failed], [0, 0]);
  assert.deepEqual(await world.objects(), objects);
});

describe('a snapshot of a deleted workspace', () => {
  test('stays while a fork needs it, and is removed when the fork has its own snapshot', async () => {
    const { snapshotId, forks } = await workspace.fork({ newName: `${workspace.name}-fork` });
    const { kept, removedSnapshots } = await workspace.delete();
    const dependent = forks[0]!.value!.sandboxId;
    assert.deepEqual(kept, [
      { snapshotId, originId: kept[0]!.originId, dependents: [dependent], pinned: false },
    ]);
    assert.deepEqual([removedSnapshots, await stored()], [1, 1]);
    const fork = world.workspace(forks[0]!.name);
    await fork.stop();
    await until(async () => (await stored()) === 1);
    await fork.start();
    assert.equal(await fork.exec('cat file'), 'x\n');
    await fork.delete();
    await until(async () => (await stored()) === 0);
  });

  test('can be restored by a fork whose container has ended', async () => {
    const { forks } = await workspace.fork({ newName: `${workspace.name}-fork` });
    const fork = world.workspace(forks[0]!.name);
    await workspace.delete();
    await fork.endContainer();
    assert.equal((await fork.start()).how, 'restored');
    assert.equal(await fork.exec('cat file'), 'x\n');
    await fork.delete();
  });

  test('is removed with the last fork that needs it', async () => {
    const { forks } = await workspace.fork({ newName: `${workspace.name}-fork`, count: 2 });
    await workspace.delete();
    await world.workspace(forks[0]!.name).delete();
    assert.equal(await stored(), 1);
    assert.equal((await world.workspace(forks[1]!.name).delete()).removed, true);
    await until(async () => (await stored()) === 0);
  });

  test('stays while a sandbox without a name needs it', async () => {
    const { sandboxId } = (await world.restore(ref)).ref;
    const { kept } = await workspace.delete();
    assert.deepEqual(kept[0]?.dependents, [sandboxId]);
    await world.snapshot(sandboxId);
    await until(async () => (await stored()) === 1);
  });

  test('stays while it is pinned', async () => {
    await world.rpc('pin', { ref });
    const { kept } = await workspace.delete();
    assert.deepEqual([kept[0]?.snapshotId, kept[0]?.pinned], [ref.ref.snapshotId, true]);
    assert.equal(await stored(), 1);
    await world.rpc('unpin', { ref });
    await until(async () => (await stored()) === 0);
  });
});
