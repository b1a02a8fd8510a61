// The sandbox of a workspace fell asleep, and an application that knew nothing of it ran a command: another container has
// started by itself, without the workspace's files. What is in it is never taken for them, and never thrown away unasked.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { Calls, isArchiving } from './calls.ts';
import type { Named } from './named.ts';

const calls = new Calls();
let world: World;
let count = 0;
let workspace: Named;
let last: string;

before(async () => {
  world = await World.start({ onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

/** A workspace that runs, with a file in it that is in its last snapshot. */
beforeEach(async () => {
  calls.reset();
  workspace = world.workspace(`agent-${++count}`);
  await workspace.create();
  await workspace.exec('echo own > file');
  last = (await world.snapshot(await workspace.sandboxId())).ref.snapshotId;
});

test('a sandbox in which nothing was written is restored', async () => {
  await workspace.wakeByItself('ls -A; echo x > /tmp/elsewhere');
  const { how, restoredFrom, history } = await workspace.start();
  assert.deepEqual([how, restoredFrom], ['restored', last]);
  assert.equal(history[1]?.cause, 'its sandbox had woken by itself, without its files');
  assert.equal(await workspace.exec('cat file; ls -I "session-*" /tmp'), 'own\n');
});

test('a sandbox that woke is not captured', async () => {
  await workspace.wakeByItself('echo x > other');
  const error = await world.failure(world.snapshot(await workspace.sandboxId()));
  assert.equal(error.code, 'SANDBOX_REPLACED', error.message);
  assert.deepEqual(await workspace.snapshots(), [last]);
});

test('a snapshot that is taken by force is not what it is started from', async () => {
  await workspace.wakeByItself('echo x > other');
  const { ref } = await world.snapshot(await workspace.sandboxId(), { wake: true });
  assert.equal((await workspace.start({ onDiverged: 'discard' })).restoredFrom, last);
  assert.equal(await workspace.printsIn(ref.snapshotId, 'ls'), 'other\n');
});

describe('a sandbox in which something was written', () => {
  beforeEach(() => workspace.wakeByItself('echo written > other'));

  test('is not touched, and the start says what to decide', async () => {
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

  test('goes on where the caller says adopt, and is what it is started from then', async () => {
    assert.equal((await workspace.start({ onDiverged: 'adopt' })).how, 'adopted');
    assert.equal(await workspace.exec('cat *'), 'written\n');
    assert.equal((await workspace.start()).how, 'running');
    await workspace.stop();
    await workspace.start();
    assert.equal(await workspace.exec('cat *'), 'written\n');
    assert.equal(await workspace.printsIn(last, 'cat *'), 'own\n');
  });

  test('is rescued where the caller says so, and the files before are back', async () => {
    const { how, rescueSnapshotId, restoredFrom } = await workspace.start({ onDiverged: 'rescue' });
    assert.deepEqual([how, restoredFrom], ['restored', last]);
    assert.equal(await workspace.exec('cat *'), 'own\n');
    assert.equal(await workspace.printsIn(rescueSnapshotId!, 'cat *'), 'written\n');
    await workspace.fallAsleep();
    assert.equal((await workspace.start()).restoredFrom, last, 'never from what was rescued');
  });

  test('is rescued once, where many callers say so at the same time', async () => {
    calls.reset();
    const starts = Array.from({ length: 5 }, () => workspace.start({ onDiverged: 'rescue' }));
    const answers = await Promise.all(starts);
    assert.equal(new Set(answers.map(({ rescueSnapshotId }) => rescueSnapshotId)).size, 1);
    assert.equal(calls.count(isArchiving), 1);
  });

  test('is rescued when the workspace goes back', async () => {
    const before = await workspace.sandboxId();
    const { state } = await workspace.update({ currentSnapshotId: last });
    assert.equal(state, 'stopped');
    assert.ok(!world.running().includes(await world.hex(before)));
    const [rescue] = (await world.list(before)).snapshots;
    assert.equal(await workspace.printsIn(rescue!.snapshotId, 'cat *', before), 'written\n');
    await workspace.start();
    assert.equal(await workspace.exec('cat *'), 'own\n');
  });

  test('is discarded where the caller says so', async () => {
    const { how, rescueSnapshotId } = await workspace.start({ onDiverged: 'discard' });
    assert.deepEqual([how, rescueSnapshotId, calls.count(isArchiving)], ['restored', undefined, 1]);
    assert.equal(await workspace.exec('cat *'), 'own\n');
  });

  test('is rescued by a stop, which keeps the last snapshot', async () => {
    const { state, rescueSnapshotId, lastSnapshot } = await workspace.stop();
    assert.deepEqual([state, lastSnapshot?.id], ['stopped', last]);
    assert.equal(await workspace.isRunning(), false);
    assert.equal(await workspace.printsIn(rescueSnapshotId!, 'cat *'), 'written\n');
    assert.equal((await workspace.start()).restoredFrom, last);
    assert.equal(await workspace.exec('cat *'), 'own\n');
  });

  test('is rescued by a stop after a start that failed for it', async () => {
    await world.failure(workspace.start());
    const { state, rescueSnapshotId } = await workspace.stop();
    assert.equal(state, 'stopped');
    assert.equal(await workspace.printsIn(rescueSnapshotId!, 'cat *'), 'written\n');
  });

  test('can become a workspace of its own', async () => {
    const { rescueSnapshotId } = await workspace.stop();
    const sourceSnapshot = { sandboxId: await workspace.sandboxId(), snapshotId: rescueSnapshotId };
    const other = world.workspace(`${workspace.name}-other`);
    await other.create({ sourceSnapshot });
    assert.equal(await other.exec('cat *'), 'written\n');
  });
});

test('a sandbox of a stopped workspace that somebody woke and wrote into is rescued by another stop', async () => {
  await workspace.stop();
  await workspace.wakeByItself('echo written > other');
  const { state, rescueSnapshotId } = await workspace.stop();
  assert.deepEqual([state, await workspace.isRunning()], ['stopped', false]);
  assert.equal(await workspace.printsIn(rescueSnapshotId!, 'cat *'), 'written\n');
  await workspace.start();
  assert.equal(await workspace.exec('cat *'), 'own\n');
});
