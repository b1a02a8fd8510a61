// A workspace goes back to an earlier snapshot. Nothing is lost by that: it can go forward again.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { Calls, isArchiving, isUnpacking } from './calls.ts';
import type { Named } from './named.ts';

const calls = new Calls();
let world: World;
let count = 0;
let workspace: Named;
let sandboxId: string;
let first: string;

before(async () => {
  world = await World.start({ onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

/** A workspace that has a snapshot with `first` in its file, and runs with `second`. */
beforeEach(async () => {
  calls.reset();
  workspace = world.workspace(`agent-${++count}`);
  ({ sandboxId } = await workspace.create());
  await workspace.exec('echo first > file');
  first = (await world.snapshot(sandboxId)).ref.snapshotId;
  await workspace.exec('echo second > file');
});

test('an active workspace goes back, into a new sandbox; the old one is stopped with what was in it', async () => {
  const back = await workspace.update({ currentSnapshotId: first });
  assert.equal(back.state, 'active');
  assert.notEqual(back.sandboxId, sandboxId);
  assert.deepEqual(back.formerSandboxIds, [sandboxId]);
  assert.equal(await workspace.exec('cat file'), 'first\n');
  assert.match(back.history[0]!.cause, new RegExp(first));
  const old = await world.hex(sandboxId);
  assert.ok(!world.running().includes(old));
  const [second] = (await world.list(sandboxId)).snapshots;
  assert.notEqual(second?.snapshotId, first);
  assert.equal(await workspace.printsIn(second!.snapshotId, 'cat file', sandboxId), 'second\n');
});

test('it goes forward again, to what it had before', async () => {
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

test('a stopped workspace goes back, and stays stopped until it is started', async () => {
  await workspace.stop();
  const running = world.running();
  const { state, sandboxId: id } = await workspace.update({ currentSnapshotId: first });
  assert.equal(state, 'stopped');
  assert.notEqual(id, sandboxId);
  assert.deepEqual(world.running(), running);
  assert.equal((await workspace.start()).restoredFrom, first);
  assert.equal(await workspace.exec('cat file'), 'first\n');
});

test('what is stopped after it went back is what it is started from', async () => {
  await workspace.update({ currentSnapshotId: first });
  await workspace.exec('echo third > file');
  const { lastSnapshot, sandboxId: id } = await workspace.stop();
  assert.equal(lastSnapshot?.originId, id);
  await workspace.start();
  assert.equal(await workspace.exec('cat file'), 'third\n');
});

test('a fork goes back to where it began, and nothing of it is left when all is deleted', async () => {
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

test('variables and hooks are those of the workspace in the new sandbox too', async () => {
  const hooks = { afterStart: { command: 'echo "$NAME" > /tmp/hook' } };
  await workspace.update({ currentSnapshotId: first, env: { NAME: 'value' }, hooks });
  assert.equal(await workspace.exec('cat /tmp/hook && echo "$NAME"'), 'value\nvalue\n');
});

describe('a workspace stays as it is', () => {
  test('where the snapshot is not its own, or gone', async () => {
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

  test('where the new sandbox can not be filled', async () => {
    const running = world.running();
    calls.meet(isUnpacking, () => Promise.reject(new Error('the disk is full')));
    const error = await world.failure(workspace.update({ currentSnapshotId: first }));
    assert.match(error.message, /the disk is full/);
    calls.reset();
    assert.deepEqual([await workspace.sandboxId(), world.running()], [sandboxId, running]);
    assert.equal(await workspace.state(), 'active');
    assert.equal(await workspace.exec('cat file'), 'second\n');
    await workspace.update({ currentSnapshotId: first });
    assert.equal(await workspace.exec('cat file'), 'first\n');
  });

  test('where its old sandbox can not be captured, that one goes on until it can', async () => {
    calls.meet(isArchiving, () => Promise.reject(new Error('no room')), 1);
    await workspace.update({ currentSnapshotId: first });
    assert.equal(await workspace.exec('cat file'), 'first\n');
    assert.ok(world.running().includes(await world.hex(sandboxId)), 'what is in it is nowhere else');
    await workspace.update({ currentSnapshotId: first });
    assert.ok(!world.running().includes(await world.hex(sandboxId)));
    const [second] = (await world.list(sandboxId)).snapshots;
    assert.equal(await workspace.printsIn(second!.snapshotId, 'cat file', sandboxId), 'second\n');
  });
});

describe('an update of the settings', () => {
  test('changes what is given, and nothing else', async () => {
    await workspace.update({ expiry: { idleSeconds: 60 }, env: { NAME: 'value' } });
    const { expiry, envNames, persistent } = await workspace.update({ persistent: false });
    assert.deepEqual([expiry.idleSeconds, envNames, persistent], [60, ['NAME'], false]);
    assert.equal(await workspace.exec('cat file'), 'second\n');
  });

  test('of the retention counts at once, for all of its sandboxes', async () => {
    await workspace.update({ currentSnapshotId: first });
    const ids = async () => (await world.list(sandboxId)).snapshots.map(({ snapshotId }) => snapshotId);
    assert.equal((await ids()).length, 2);
    await workspace.stop();
    await workspace.update({ retention: { keepLast: { count: 1 } } });
    assert.deepEqual(await ids(), [(await ids())[0]]);
    assert.ok(!(await ids()).includes(first), 'nothing needs it any more');
    for (const id of [sandboxId, await workspace.sandboxId()]) {
      const { policy } = await world.rpc('retention', { sandboxId: id });
      assert.equal(policy.keepLast.count, 1);
    }
    await workspace.start();
    assert.equal(await workspace.exec('cat file'), 'first\n');
  });
});
