// Rollback to an earlier snapshot. No files are lost, because the former sandbox is captured.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { CallInterceptor, isArchiving, isUnpacking } from './calls.ts';
import type { NamedWorkspace } from './named.ts';

const calls = new CallInterceptor();
let world: World;
let count = 0;
let workspace: NamedWorkspace;
let sandboxId: string;
let first: string;

before(async () => {
  world = await World.start({ onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

/** Creates a running workspace with `second` in its file, and a snapshot with `first`. */
beforeEach(async () => {
  calls.reset();
  workspace = world.workspace(`agent-${++count}`);
  ({ sandboxId } = await workspace.create());
  await workspace.exec('echo first > file');
  first = (await world.snapshot(sandboxId)).ref.snapshotId;
  await workspace.exec('echo second > file');
});

test('a rollback of an active workspace uses a new sandbox, and stops the former one with a snapshot', async () => {
  const rolledBack = await workspace.update({ currentSnapshotId: first });
  assert.equal(rolledBack.state, 'active');
  assert.notEqual(rolledBack.sandboxId, sandboxId);
  assert.deepEqual(rolledBack.formerSandboxIds, [sandboxId]);
  assert.equal(await workspace.exec('cat file'), 'first\n');
  assert.match(rolledBack.history[0]!.cause, new RegExp(first));
  const formerId = await world.objectId(sandboxId);
  assert.ok(!world.running().includes(formerId));
  const [second] = (await world.list(sandboxId)).snapshots;
  assert.notEqual(second?.snapshotId, first);
  assert.equal(await workspace.printFromSnapshot(second!.snapshotId, 'cat file', sandboxId), 'second\n');
});

test('a workspace can be rolled forward to its files before a rollback', async () => {
  await workspace.update({ currentSnapshotId: first });
  await workspace.exec('echo third > file');
  const second = (await world.list(sandboxId)).snapshots[0]!.snapshotId;
  const forward = await workspace.update({ currentSnapshotId: second });
  assert.equal(await workspace.exec('cat file'), 'second\n');
  assert.equal(forward.formerSandboxIds.length, 2);
  const third = (await world.list(forward.formerSandboxIds[0]!)).snapshots[0]!.snapshotId;
  await workspace.update({ currentSnapshotId: third });
  assert.equal(await workspace.exec('cat file'), 'third\n');
});

test('a rollback of a stopped workspace leaves it stopped', async () => {
  await workspace.stop();
  const running = world.running();
  const { state, sandboxId: id } = await workspace.update({ currentSnapshotId: first });
  assert.equal(state, 'stopped');
  assert.notEqual(id, sandboxId);
  assert.deepEqual(world.running(), running);
  assert.equal((await workspace.start()).restoredFrom?.snapshotId, first);
  assert.equal(await workspace.exec('cat file'), 'first\n');
});

test('a start after a rollback and a stop restores the files of the stop', async () => {
  await workspace.update({ currentSnapshotId: first });
  await workspace.exec('echo third > file');
  const { lastSnapshot, sandboxId: id } = await workspace.stop();
  assert.equal(lastSnapshot?.originId, id);
  await workspace.start();
  assert.equal(await workspace.exec('cat file'), 'third\n');
});

test('a fork can be rolled back to its source snapshot, and its deletion leaves no objects', async () => {
  const objects = await world.objects();
  const { snapshotId, forks } = await workspace.fork();
  const fork = world.workspace(forks[0]!.name);
  await fork.exec('echo third > file');
  await fork.update({ currentSnapshotId: snapshotId });
  assert.equal(await fork.exec('cat file'), 'second\n');
  assert.equal(await workspace.exec('cat file'), 'second\n');
  await fork.delete();
  await world.rpc('delete', { sandboxId, snapshotId });
  assert.deepEqual(await world.objects(), objects);
});

test('a rollback keeps the variables and hooks of the workspace', async () => {
  const hooks = { afterStart: { command: 'echo "$NAME" > /tmp/hook' } };
  await workspace.update({ currentSnapshotId: first, env: { NAME: 'value' }, hooks });
  assert.equal(await workspace.exec('cat /tmp/hook && echo "$NAME"'), 'value\nvalue\n');
});

describe('a rolled-back workspace', () => {
  test('stays unchanged if the snapshot belongs to another workspace or does not exist', async () => {
    const other = world.workspace(`other-${count}`);
    await other.create();
    const foreign = (await other.stop()).lastSnapshot!.id;
    const running = world.running();
    for (const currentSnapshotId of ['snap-0000000000000000', foreign]) {
      const error = await world.failure(workspace.update({ currentSnapshotId, persistent: true }));
      assert.equal(error.code, 'SNAPSHOT_NOT_FOUND');
    }
    assert.deepEqual([await workspace.sandboxId(), world.running()], [sandboxId, running]);
    assert.equal(await workspace.exec('cat file'), 'second\n');
  });

  test('stays unchanged if the restore into the new sandbox fails', async () => {
    const running = world.running();
    calls.intercept(isUnpacking, () => Promise.reject(new Error('the disk is full')));
    const error = await world.failure(workspace.update({ currentSnapshotId: first }));
    assert.match(error.message, /the disk is full/);
    calls.reset();
    assert.deepEqual([await workspace.sandboxId(), world.running()], [sandboxId, running]);
    assert.equal(await workspace.state(), 'active');
    assert.equal(await workspace.exec('cat file'), 'second\n');
    await workspace.update({ currentSnapshotId: first });
    assert.equal(await workspace.exec('cat file'), 'first\n');
  });

  test('keeps its former sandbox running until that can be captured', async () => {
    // Before the switch, and at the stop.
    calls.intercept(isArchiving, () => Promise.reject(new Error('no space')), 2);
    await workspace.update({ currentSnapshotId: first });
    assert.equal(await workspace.exec('cat file'), 'first\n');
    assert.ok(world.running().includes(await world.objectId(sandboxId)), 'no snapshot contains its files');
    await workspace.update({ currentSnapshotId: first });
    assert.ok(!world.running().includes(await world.objectId(sandboxId)));
    const [second] = (await world.list(sandboxId)).snapshots;
    assert.equal(await workspace.printFromSnapshot(second!.snapshotId, 'cat file', sandboxId), 'second\n');
  });
});

describe('an update of the settings', () => {
  test('changes the given settings only', async () => {
    await workspace.update({ expiry: { idleSeconds: 60 }, env: { NAME: 'value' } });
    const { expiry, envNames, persistent } = await workspace.update({ persistent: false });
    assert.deepEqual([expiry.idleSeconds, envNames, persistent], [60, ['NAME'], false]);
    assert.equal(await workspace.exec('cat file'), 'second\n');
  });

  test('applies a new retention policy at once to all of its sandboxes', async () => {
    await workspace.update({ currentSnapshotId: first });
    const ids = async () => (await world.list(sandboxId)).snapshots.map(({ snapshotId }) => snapshotId);
    assert.equal((await ids()).length, 2);
    await workspace.stop();
    await workspace.update({ retention: { keepLast: { count: 1 } } });
    assert.deepEqual(await ids(), [(await ids())[0]]);
    assert.ok(!(await ids()).includes(first), 'no workspace needs it');
    for (const id of [sandboxId, await workspace.sandboxId()]) {
      const { policy } = await world.rpc('retention', { sandboxId: id });
      assert.equal(policy.keepLast.count, 1);
    }
    await workspace.start();
    assert.equal(await workspace.exec('cat file'), 'first\n');
  });
});
