// Stops that are concurrent with other calls, or fail. The snapshot of a stop contains all files written before its end.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { until, World } from '../world.ts';
import { CallInterceptor, isArchiving, isUnpacking } from './calls.ts';
import type { NamedWorkspace } from './named.ts';

const calls = new CallInterceptor();
let world: World;
let count = 0;
let workspace: NamedWorkspace;

before(async () => {
  world = await World.start({ onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  calls.reset();
  workspace = world.workspace(`agent-${++count}`);
  await workspace.create();
  await workspace.exec('echo x > file');
});

/** Asserts that the workspace runs with its files, and can be stopped and started. */
async function assertUsable() {
  assert.equal(await workspace.state(), 'active');
  assert.equal(await workspace.exec('cat file'), 'x\n');
  calls.reset();
  assert.equal((await workspace.stop()).state, 'stopped');
  await workspace.start();
  assert.equal(await workspace.exec('cat file'), 'x\n');
}

describe('a stop', () => {
  test('of a stopped workspace takes no second snapshot', async () => {
    const [first, second] = [await workspace.stop(), await workspace.stop()];
    assert.deepEqual(second.lastSnapshot, first.lastSnapshot);
    assert.equal(calls.count(isArchiving), 1);
    assert.equal((await workspace.snapshots()).length, 1);
  });

  test('that many callers request concurrently takes one snapshot', async () => {
    const blocked = calls.block(isArchiving);
    const first = workspace.stop();
    await blocked.reached;
    const others = Array.from({ length: 10 }, () => workspace.stop());
    blocked.release();
    const answers = await Promise.all([first, ...others]);
    assert.equal(new Set(answers.map(({ lastSnapshot }) => lastSnapshot?.id)).size, 1);
    assert.equal(calls.count(isArchiving), 1);
  });

  test('takes its own snapshot although another capture is in progress', async () => {
    const blocked = calls.block(isArchiving);
    const snapshot = world.snapshot(await workspace.sandboxId());
    await blocked.reached;
    await workspace.exec('echo later > file');
    const stop = workspace.stop();
    await until(async () => (await workspace.state()) === 'stopping');
    blocked.release();
    const [{ ref }, { lastSnapshot }] = await Promise.all([snapshot, stop]);
    assert.notEqual(lastSnapshot?.id, ref.snapshotId);
    await workspace.start();
    assert.equal(await workspace.exec('cat file'), 'later\n');
  });

  test('saves a file that was written during the capture', async () => {
    const id = await workspace.sandboxId();
    calls.intercept(isArchiving, async () => void (await world.exec(id, 'echo late > late')), 1);
    const { changedDuringCapture } = await workspace.stop();
    assert.deepEqual([changedDuringCapture, calls.count(isArchiving)], [false, 2]);
    await workspace.start();
    assert.equal(await workspace.exec('cat file late'), 'x\nlate\n');
  });

  test('reports changedDuringCapture if files keep changing', async () => {
    const id = await workspace.sandboxId();
    calls.intercept(isArchiving, async () => void (await world.exec(id, 'echo more >> log')));
    const { changedDuringCapture, state } = await workspace.stop();
    assert.deepEqual([changedDuringCapture, state], [true, 'stopped']);
    calls.reset();
    await workspace.start();
    assert.match(await workspace.exec('cat log'), /^more\n/);
  });

  test('waits for a start in progress', async () => {
    await workspace.stop();
    const blocked = calls.block(isUnpacking);
    const start = workspace.start();
    await blocked.reached;
    const stop = workspace.stop();
    blocked.release();
    assert.deepEqual([(await start).how, (await stop).state], ['restored', 'stopped']);
    assert.equal(await workspace.isRunning(), false);
    await workspace.start();
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });

  test('makes a start wait, which then restores the files of the stop', async () => {
    const blocked = calls.block(isArchiving);
    const stop = workspace.stop();
    await blocked.reached;
    const start = workspace.start();
    blocked.release();
    assert.deepEqual([(await stop).state, (await start).how], ['stopped', 'restored']);
    assert.equal((await start).restoredFrom?.snapshotId, (await stop).lastSnapshot?.id);
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });

  test('continues after its caller aborts, and a waiting start of that caller is canceled', async () => {
    const blocked = calls.block(isArchiving);
    const callAndFail = (operation: string) =>
      world.failure(world.rpc(`workspaces/${operation}`, { name: workspace.name }, true));
    const stop = callAndFail('stop');
    await blocked.reached;
    const start = callAndFail('start');
    await workspace.describe();
    await world.abort();
    assert.deepEqual([(await stop).code, (await start).code], ['ABORTED', 'ABORTED']);
    blocked.release();
    await until(async () => (await workspace.state()) === 'stopped');
    await workspace.stop();
    assert.deepEqual([await workspace.state(), await workspace.isRunning()], ['stopped', false]);
    assert.equal((await workspace.snapshots()).length, 1);
  });
});

describe('a stop that fails', () => {
  test('because the archive cannot be created leaves the workspace running with a problem', async () => {
    const refuse = () => Promise.reject(new Error('no space for the archive'));
    calls.intercept(isArchiving, refuse);
    const objects = await world.objects();
    const error = await world.failure(workspace.stop());
    assert.match(error.message, /no space for the archive/);
    const { state, problem, lastSnapshot, history } = await workspace.describe();
    assert.deepEqual([state, problem?.code, lastSnapshot], ['active', error.code, undefined]);
    assert.deepEqual(history[0]?.cause, `it could not be stopped: ${error.code}`);
    assert.deepEqual(await world.objects(), objects);
    await assertUsable();
    assert.equal((await workspace.describe()).problem, undefined);
  });

  test('because its directory is missing leaves the workspace running', async () => {
    workspace = world.workspace(`${workspace.name}-project`);
    await workspace.create({ dir: '/workspace/project' });
    await workspace.exec('mkdir -p project && echo x > project/file && mv project elsewhere');
    const error = await world.failure(workspace.stop());
    assert.equal(error.code, 'INVALID_DIRECTORY', error.message);
    assert.equal(await workspace.state(), 'active');
    await workspace.exec('mv elsewhere project');
    await workspace.stop();
    await workspace.start();
    assert.equal(await workspace.exec('cat project/file'), 'x\n');
  });

  test('because its container was killed leaves the last snapshot restorable', async () => {
    const { ref } = await world.snapshot(await workspace.sandboxId());
    calls.intercept(isArchiving, ({ sandboxId }) => world.killByObjectId(sandboxId), 1);
    const error = await world.failure(workspace.stop());
    assert.ok(['SANDBOX_REPLACED', 'BACKUP_INTERRUPTED'].includes(error.code ?? ''), error.message);
    assert.equal((await workspace.start()).restoredFrom?.snapshotId, ref.snapshotId);
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });
});

describe('during a start,', () => {
  test('the sandbox cannot be captured', async () => {
    const { sandboxId } = await workspace.stop();
    const blocked = calls.block(isUnpacking);
    const start = workspace.start();
    await blocked.reached;
    for (const options of [{}, { wake: true }]) {
      const error = await world.failure(world.snapshot(sandboxId, options));
      assert.deepEqual([error.code, error.retryable], ['SANDBOX_STARTING', true]);
    }
    blocked.release();
    assert.equal((await start).how, 'restored');
    assert.equal((await workspace.snapshots()).length, 1);
    await world.snapshot(sandboxId);
  });

  test('a killed container is replaced and restored', async () => {
    await workspace.stop();
    calls.intercept(isUnpacking, ({ sandboxId }) => world.killByObjectId(sandboxId), 1);
    assert.equal((await workspace.start()).how, 'restored');
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });
});

describe('the newest snapshot of a workspace is not deleted', () => {
  /** Returns the call that deletes the snapshot of the last stop. */
  async function deletionOfNewest() {
    const [sandboxId, { lastSnapshot }] = await Promise.all([workspace.sandboxId(), workspace.stop()]);
    return () => world.rpc('delete', { sandboxId, snapshotId: lastSnapshot?.id });
  }

  test('while an empty container runs', async () => {
    const deleteNewest = await deletionOfNewest();
    await workspace.coldStart('[ ! -e file ]');
    await assert.rejects(deleteNewest(), { code: 'SNAPSHOT_HAS_DEPENDENTS' });
    await workspace.start();
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });

  test('while a start restores it', async () => {
    const deleteNewest = await deletionOfNewest();
    const blocked = calls.block(isUnpacking);
    const start = workspace.start();
    await blocked.reached;
    await assert.rejects(deleteNewest(), { code: 'SNAPSHOT_BUSY' });
    blocked.release();
    await start;
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });
});
