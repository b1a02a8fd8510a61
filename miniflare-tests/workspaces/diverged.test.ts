// Diverged sandboxes: the container of a workspace ended, and a command of an application cold-started another one without the
// workspace's files. Its files do not count as the workspace's, and are not discarded without a request.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { CallInterceptor, isArchiving } from './calls.ts';
import type { NamedWorkspace } from './named.ts';

const calls = new CallInterceptor();
let world: World;
let count = 0;
let workspace: NamedWorkspace;
let last: string;

before(async () => {
  world = await World.start({ onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

/** Creates a running workspace with a file that its last snapshot contains. */
beforeEach(async () => {
  calls.reset();
  workspace = world.workspace(`agent-${++count}`);
  await workspace.create();
  await workspace.exec('echo own > file');
  last = (await world.snapshot(await workspace.sandboxId())).ref.snapshotId;
});

test('a start restores a cold-started sandbox without written files', async () => {
  await workspace.coldStart('ls -A; echo x > /tmp/elsewhere');
  const { how, restoredFrom, history } = await workspace.start();
  assert.deepEqual([how, restoredFrom?.snapshotId], ['restored', last]);
  assert.equal(history[1]?.cause, 'its sandbox had cold-started without its files');
  assert.equal(await workspace.exec('cat file; ls -I "session-*" /tmp'), 'own\n');
});

test('a cold-started sandbox is not captured', async () => {
  await workspace.coldStart('echo x > other');
  const error = await world.failure(world.snapshot(await workspace.sandboxId()));
  assert.equal(error.code, 'SANDBOX_REPLACED', error.message);
  assert.deepEqual(await workspace.snapshots(), [last]);
});

test('a snapshot of a cold-started sandbox taken with wake is not used by a start', async () => {
  await workspace.coldStart('echo x > other');
  const { ref } = await world.snapshot(await workspace.sandboxId(), { wake: true });
  assert.equal((await workspace.start({ onDiverged: 'discard' })).restoredFrom?.snapshotId, last);
  assert.equal(await workspace.printFromSnapshot(ref.snapshotId, 'ls'), 'other\n');
});

describe('a cold-started sandbox with written files', () => {
  beforeEach(() => workspace.coldStart('echo written > other'));

  test('stays unchanged, and the error of the start names the choices', async () => {
    for (const options of [{}, { onDiverged: 'fail' }]) {
      const error = await world.failure(workspace.start(options));
      assert.deepEqual([error.code, error.kind], ['WORKSPACE_DIVERGED', 'conflict']);
      for (const word of ['rescue', 'adopt', 'discard']) assert.ok(error.remediation?.includes(word));
    }
    const { state, problem } = await workspace.describe();
    assert.deepEqual([state, problem?.code], ['failed', 'WORKSPACE_DIVERGED']);
    assert.equal(await workspace.exec('cat *'), 'written\n');
    assert.deepEqual(await workspace.snapshots(), [last]);
  });

  test('keeps its files with onDiverged adopt, and later starts use them', async () => {
    assert.equal((await workspace.start({ onDiverged: 'adopt' })).how, 'adopted');
    assert.equal(await workspace.exec('cat *'), 'written\n');
    assert.equal((await workspace.start()).how, 'running');
    await workspace.stop();
    await workspace.start();
    assert.equal(await workspace.exec('cat *'), 'written\n');
    assert.equal(await workspace.printFromSnapshot(last, 'cat *'), 'own\n');
  });

  test('is rescued with onDiverged rescue, and the previous files are restored', async () => {
    const { how, rescueSnapshotId, restoredFrom } = await workspace.start({ onDiverged: 'rescue' });
    assert.deepEqual([how, restoredFrom?.snapshotId], ['restored', last]);
    assert.equal(await workspace.exec('cat *'), 'own\n');
    assert.equal(await workspace.printFromSnapshot(rescueSnapshotId!, 'cat *'), 'written\n');
    await workspace.endContainer();
    assert.equal((await workspace.start()).restoredFrom?.snapshotId, last, 'the rescue snapshot is not used');
  });

  test('is rescued once by concurrent starts', async () => {
    calls.reset();
    const starts = Array.from({ length: 5 }, () => workspace.start({ onDiverged: 'rescue' }));
    const answers = await Promise.all(starts);
    assert.equal(new Set(answers.map(({ rescueSnapshotId }) => rescueSnapshotId)).size, 1);
    assert.equal(calls.count(isArchiving), 1);
  });

  test('is rescued by a rollback', async () => {
    const before = await workspace.sandboxId();
    const { state } = await workspace.update({ currentSnapshotId: last });
    assert.equal(state, 'stopped');
    assert.ok(!world.running().includes(await world.objectId(before)));
    const [rescue] = (await world.list(before)).snapshots;
    assert.equal(await workspace.printFromSnapshot(rescue!.snapshotId, 'cat *', before), 'written\n');
    await workspace.start();
    assert.equal(await workspace.exec('cat *'), 'own\n');
  });

  test('is discarded with onDiverged discard', async () => {
    const { how, rescueSnapshotId } = await workspace.start({ onDiverged: 'discard' });
    assert.deepEqual([how, rescueSnapshotId, calls.count(isArchiving)], ['restored', undefined, 1]);
    assert.equal(await workspace.exec('cat *'), 'own\n');
  });

  test('is rescued by a stop, and the last snapshot stays the newest', async () => {
    const { state, rescueSnapshotId, lastSnapshot } = await workspace.stop();
    assert.deepEqual([state, lastSnapshot?.id], ['stopped', last]);
    assert.equal(await workspace.isRunning(), false);
    assert.equal(await workspace.printFromSnapshot(rescueSnapshotId!, 'cat *'), 'written\n');
    assert.equal((await workspace.start()).restoredFrom?.snapshotId, last);
    assert.equal(await workspace.exec('cat *'), 'own\n');
  });

  test('is rescued by a stop after a failed start', async () => {
    await world.failure(workspace.start());
    const { state, rescueSnapshotId } = await workspace.stop();
    assert.equal(state, 'stopped');
    assert.equal(await workspace.printFromSnapshot(rescueSnapshotId!, 'cat *'), 'written\n');
  });

  test('can be the source of another workspace', async () => {
    const { rescueSnapshotId } = await workspace.stop();
    const sourceSnapshot = { sandboxId: await workspace.sandboxId(), snapshotId: rescueSnapshotId };
    const other = world.workspace(`${workspace.name}-other`);
    await other.create({ sourceSnapshot });
    assert.equal(await other.exec('cat *'), 'written\n');
  });
});

test('a stop rescues files that were written after a cold start of a stopped workspace', async () => {
  await workspace.stop();
  await workspace.coldStart('echo written > other');
  const { state, rescueSnapshotId } = await workspace.stop();
  assert.deepEqual([state, await workspace.isRunning()], ['stopped', false]);
  assert.equal(await workspace.printFromSnapshot(rescueSnapshotId!, 'cat *'), 'written\n');
  await workspace.start();
  assert.equal(await workspace.exec('cat *'), 'own\n');
});
