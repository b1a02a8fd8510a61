// A workspace is deleted: its name is free at once, and its snapshots go as soon as nobody else needs them.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { until, World } from '../world.ts';
import { Calls, isArchiving, isUnpacking } from './calls.ts';
import type { Named } from './named.ts';
import type { SnapshotRef } from '../../client/src/index.ts';

const calls = new Calls();
let world: World;
let count = 0;
let workspace: Named;
let ref: SnapshotRef;
let others: string[];
let running: string[];

before(async () => {
  world = await World.start({ onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

/** A workspace that runs, with one snapshot. What was there before it is none of its business. */
beforeEach(async () => {
  calls.reset();
  [others, running] = [await world.objects(), world.running()];
  workspace = world.workspace(`agent-${++count}`);
  await workspace.create();
  await workspace.exec('echo x > file');
  ref = await world.snapshot(await workspace.sandboxId());
});

/** Another workspace, which is there from then on. */
async function other() {
  const one = world.workspace(`${workspace.name}-other`);
  await one.create();
  return one;
}

/** How many snapshots are in R2 that were not there before. */
const stored = async () => (await world.objects()).filter((key) => !others.includes(key)).length / 2;

const code = async (call: Promise<unknown>) => (await world.failure(call)).code;

describe('a workspace that is deleted', () => {
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

  test('while it is stopped is gone just so', async () => {
    await workspace.stop();
    assert.equal((await workspace.delete()).removedSnapshots, 2);
    assert.deepEqual([await stored(), world.running()], [0, running]);
  });

  test('again is fine', async () => {
    assert.equal((await workspace.delete()).removed, true);
    const again = await workspace.delete();
    assert.deepEqual([again.removed, again.removedSnapshots], [false, 0]);
  });

  test('by many callers at the same time is deleted once', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => workspace.delete()));
    assert.equal(answers.filter(({ removed }) => removed).length, 1);
    assert.equal(await stored(), 0);
  });

  test('while it is being started or stopped is gone when that is done', async () => {
    let held = calls.hold(isArchiving);
    const stop = workspace.stop();
    await held.reached;
    const [deleted] = [workspace.delete(), held.release()];
    assert.deepEqual([(await stop).state, (await deleted).removed], ['stopped', true]);
    assert.deepEqual([await stored(), world.running()], [0, running]);

    await workspace.create({ sourceWorkspace: (await other()).name });
    await workspace.stop();
    held = calls.hold(isUnpacking);
    const start = workspace.start();
    await held.reached;
    const [again] = [workspace.delete(), held.release()];
    assert.deepEqual([(await start).how, (await again).removed], ['restored', true]);
    assert.equal(await code(workspace.describe()), 'WORKSPACE_NOT_FOUND');
  });

  test('after it went back has none of its sandboxes and their snapshots', async () => {
    await workspace.update({ currentSnapshotId: ref.ref.snapshotId });
    await workspace.stop();
    assert.equal((await workspace.delete()).removedSnapshots, 3);
    assert.deepEqual([await stored(), world.running()], [0, running]);
  });

  test('can be made anew, and is empty', async () => {
    const before = await workspace.sandboxId();
    await workspace.delete();
    const { how, sandboxId, lastSnapshot, formerSandboxIds } = await workspace.create();
    assert.deepEqual([how, lastSnapshot, formerSandboxIds], ['empty', undefined, []]);
    assert.notEqual(sandboxId, before);
    assert.equal(await workspace.exec('ls -A'), '');
  });

  test('has a sandbox that is captured no more, should somebody wake it', async () => {
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

test('the sweep leaves what belongs to a workspace, and has nothing left to do', async () => {
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

describe('a snapshot that is still needed', () => {
  test('by a fork stays, is named, and goes when the fork has one of its own', async () => {
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

  test('by a fork that sleeps can still be restored', async () => {
    const { forks } = await workspace.fork({ newName: `${workspace.name}-fork` });
    const fork = world.workspace(forks[0]!.name);
    await workspace.delete();
    await fork.fallAsleep();
    assert.equal((await fork.start()).how, 'restored');
    assert.equal(await fork.exec('cat file'), 'x\n');
    await fork.delete();
  });

  test('by several forks goes with the last of them', async () => {
    const { forks } = await workspace.fork({ newName: `${workspace.name}-fork`, count: 2 });
    await workspace.delete();
    await world.workspace(forks[0]!.name).delete();
    assert.equal(await stored(), 1);
    assert.equal((await world.workspace(forks[1]!.name).delete()).removed, true);
    await until(async () => (await stored()) === 0);
  });

  test('by a sandbox that was restored without a name stays', async () => {
    const { sandboxId } = (await world.restore(ref)).ref;
    const { kept } = await workspace.delete();
    assert.deepEqual(kept[0]?.dependents, [sandboxId]);
    await world.snapshot(sandboxId);
    await until(async () => (await stored()) === 1);
  });

  test('because it is pinned stays until it is not', async () => {
    await world.rpc('pin', { ref });
    const { kept } = await workspace.delete();
    assert.deepEqual([kept[0]?.snapshotId, kept[0]?.pinned], [ref.ref.snapshotId, true]);
    assert.equal(await stored(), 1);
    await world.rpc('unpin', { ref });
    await until(async () => (await stored()) === 0);
  });
});
