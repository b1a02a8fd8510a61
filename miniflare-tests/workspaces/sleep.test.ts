// The container of a workspace ends, for example by the SDK's `sleepAfter`. A start detects that, and restores the files.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { World } from '../world.ts';

let world: World;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

describe('a workspace whose sandbox went to sleep', () => {
  test('is restored from its last snapshot, and cannot start without one', async () => {
    const [kept, lost] = [world.workspace('kept'), world.workspace('lost')];
    for (const workspace of [kept, lost]) {
      await workspace.create();
      await workspace.exec('echo first > file');
    }
    await kept.stop();
    await kept.start();
    await kept.exec('echo second > file');
    await Promise.all([kept, lost].map(async (workspace) => world.sleep(await workspace.sandboxId())));

    assert.equal(await kept.state(), 'active', 'the state changes with the next start');
    const { how, restoredFrom, mayHaveLost, lastSnapshot, history } = await kept.start();
    assert.deepEqual([how, restoredFrom?.snapshotId], ['restored', lastSnapshot?.id]);
    assert.deepEqual([restoredFrom?.createdAt, mayHaveLost], [lastSnapshot?.createdAt, true]);
    assert.match(history[0]!.cause, new RegExp(`${lastSnapshot?.id}; newer files may be lost`));
    const again = await kept.start();
    assert.deepEqual([again.how, again.restoredFrom, again.mayHaveLost], ['running', restoredFrom, true]);
    assert.equal(await kept.exec('cat file'), 'first\n');
    assert.equal(history[1]?.cause, 'its sandbox had ended');

    const error = await world.failure(lost.start());
    assert.deepEqual([error.code, error.kind], ['NOTHING_RESTORABLE', 'conflict']);
    assert.equal(await lost.isRunning(), false);
    const { state, problem } = await lost.describe();
    assert.deepEqual([state, problem?.code], ['failed', 'NOTHING_RESTORABLE']);
    assert.equal((await lost.start({ allowEmpty: true })).how, 'empty');
    assert.equal(await lost.exec('ls -A'), '');
    assert.equal((await lost.describe()).problem, undefined);
  });
});

describe('a workspace with a partial snapshot whose container ended', () => {
  test('is restored from the older one of all files, and names the partial one', async () => {
    const workspace = world.workspace('partial');
    await workspace.create();
    await workspace.exec('echo first > file');
    const { lastSnapshot } = await workspace.stop();
    await workspace.start();
    await workspace.exec('echo second > file');
    const options = { name: 'partial', excludes: ['node_modules'] };
    const { snapshotId } = await world.rpc('snapshot', options);
    await workspace.endContainer();
    const { restoredFrom, mayHaveLost } = await workspace.start();
    assert.deepEqual(
      [restoredFrom?.snapshotId, restoredFrom?.newerPartialId, mayHaveLost],
      [lastSnapshot?.id, snapshotId, true],
    );
    assert.equal(await workspace.exec('cat file'), 'first\n');
    await workspace.update({ currentSnapshotId: snapshotId });
    assert.equal(await workspace.exec('cat file'), 'second\n');
  });

  test('does not start empty, and names it if there is no other one', async () => {
    const workspace = world.workspace('only-partial');
    await workspace.create();
    await workspace.exec('echo first > file');
    const options = { name: 'only-partial', excludes: ['node_modules'] };
    const { snapshotId } = await world.rpc('snapshot', options);
    await workspace.endContainer();
    const error = await world.failure(workspace.start());
    assert.equal(error.code, 'NOTHING_RESTORABLE');
    assert.match(error.message, new RegExp(snapshotId));
    await workspace.update({ currentSnapshotId: snapshotId });
    await workspace.start();
    assert.equal(await workspace.exec('cat file'), 'first\n');
  });
});

describe('a workspace whose container ended', () => {
  test('has forks that say that files may be lost', async () => {
    const workspace = world.workspace('forked');
    await workspace.create();
    await workspace.exec('echo x > file');
    await workspace.stop();
    for (const from of [undefined, 'latest']) {
      await workspace.start();
      await workspace.endContainer();
      const { mayHaveLost, forks } = await workspace.fork(from === undefined ? {} : { from });
      assert.deepEqual([mayHaveLost, forks[0]?.value?.mayHaveLost], [true, true], from);
    }
  });

  test('is reported as ended by a stop', async () => {
    const workspace = world.workspace('ended');
    await workspace.create();
    await workspace.exec('echo x > file');
    const { lastSnapshot } = await workspace.stop();
    await workspace.start();
    await workspace.endContainer();
    const stopped = await workspace.stop();
    assert.deepEqual([stopped.state, stopped.hadEnded], ['stopped', true]);
    assert.deepEqual(stopped.lastSnapshot, lastSnapshot);
    assert.match(stopped.history[0]!.cause, /its sandbox had ended before/);
    assert.equal((await workspace.start()).restoredFrom?.snapshotId, lastSnapshot?.id);
  });

  test('is restored from a snapshot that was taken while it ran', async () => {
    const workspace = world.workspace('captured');
    await workspace.create();
    await workspace.exec('echo x > file');
    const { ref } = await world.snapshot(await workspace.sandboxId());
    await workspace.exec('echo y > file');
    await workspace.endContainer();
    assert.equal((await workspace.start()).restoredFrom?.snapshotId, ref.snapshotId);
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });

  test('is not restored from a snapshot of another directory or of a part of its files', async () => {
    const workspace = world.workspace('partly');
    await workspace.create();
    await workspace.exec('mkdir part /tmp/other; echo x > part/file; echo y > /tmp/other/file');
    await world.snapshot(await workspace.sandboxId(), { dir: '/workspace/part' });
    await world.snapshot(await workspace.sandboxId(), { dir: '/tmp/other' });
    await world.snapshot(await workspace.sandboxId(), { excludes: ['part'] });
    await workspace.endContainer();
    assert.equal((await world.failure(workspace.start())).code, 'NOTHING_RESTORABLE');
  });

  test('is not restored from an older snapshot if the newest is damaged', async () => {
    const workspace = world.workspace('damaged');
    await workspace.create();
    await workspace.exec('echo old > file');
    const older = await workspace.stop();
    await workspace.start();
    await workspace.exec('echo new > file');
    const before = await world.objects();
    const newer = await workspace.stop();
    for (const key of await world.objects()) if (!before.includes(key)) await world.delete(key);
    const error = await world.failure(workspace.start());
    assert.equal(error.code, 'BACKUP_NOT_FOUND', error.message);
    assert.equal(await workspace.isRunning(), false);
    assert.notEqual(older.lastSnapshot?.id, newer.lastSnapshot?.id);
    await workspace.update({ currentSnapshotId: older.lastSnapshot?.id });
    await workspace.start();
    assert.equal(await workspace.exec('cat file'), 'old\n');
  });
});
