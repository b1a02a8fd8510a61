// Stops that cross other calls, or fail: nothing that was written before a stop ended is missing from its snapshot.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { until, World } from '../world.ts';
import { Calls, isArchiving, isUnpacking } from './calls.ts';
import type { Named } from './named.ts';

const calls = new Calls();
let world: World;
let count = 0;
let workspace: Named;

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

/** It runs, with its files, and can be stopped. */
async function goesOn() {
  assert.equal(await workspace.state(), 'active');
  assert.equal(await workspace.exec('cat file'), 'x\n');
  calls.reset();
  assert.equal((await workspace.stop()).state, 'stopped');
  await workspace.start();
  assert.equal(await workspace.exec('cat file'), 'x\n');
}

describe('a stop', () => {
  test('of what is stopped is fine, and takes no other snapshot', async () => {
    const [first, second] = [await workspace.stop(), await workspace.stop()];
    assert.deepEqual(second.lastSnapshot, first.lastSnapshot);
    assert.equal(calls.count(isArchiving), 1);
    assert.equal((await workspace.snapshots()).length, 1);
  });

  test('by many callers at the same time takes one snapshot', async () => {
    const held = calls.hold(isArchiving);
    const first = workspace.stop();
    await held.reached;
    const others = Array.from({ length: 10 }, () => workspace.stop());
    held.release();
    const answers = await Promise.all([first, ...others]);
    assert.equal(new Set(answers.map(({ lastSnapshot }) => lastSnapshot?.id)).size, 1);
    assert.equal(calls.count(isArchiving), 1);
  });

  test('takes a snapshot of its own, although another one is being taken', async () => {
    const held = calls.hold(isArchiving);
    const snapshot = world.snapshot(await workspace.sandboxId());
    await held.reached;
    await workspace.exec('echo later > file');
    const stop = workspace.stop();
    await until(async () => (await workspace.state()) === 'stopping');
    held.release();
    const [{ ref }, { lastSnapshot }] = await Promise.all([snapshot, stop]);
    assert.notEqual(lastSnapshot?.id, ref.snapshotId);
    await workspace.start();
    assert.equal(await workspace.exec('cat file'), 'later\n');
  });

  test('has a file in its snapshot that was written while it was taken', async () => {
    const id = await workspace.sandboxId();
    calls.meet(isArchiving, async () => void (await world.exec(id, 'echo late > late')), 1);
    const { changedDuringCapture } = await workspace.stop();
    assert.deepEqual([changedDuringCapture, calls.count(isArchiving)], [false, 2]);
    await workspace.start();
    assert.equal(await workspace.exec('cat file late'), 'x\nlate\n');
  });

  test('says so where files are written all the time', async () => {
    const id = await workspace.sandboxId();
    calls.meet(isArchiving, async () => void (await world.exec(id, 'echo more >> log')));
    const { changedDuringCapture, state } = await workspace.stop();
    assert.deepEqual([changedDuringCapture, state], [true, 'stopped']);
    calls.reset();
    await workspace.start();
    assert.match(await workspace.exec('cat log'), /^more\n/);
  });

  test('waits for a start, and then stops', async () => {
    await workspace.stop();
    const held = calls.hold(isUnpacking);
    const start = workspace.start();
    await held.reached;
    const stop = workspace.stop();
    held.release();
    assert.deepEqual([(await start).how, (await stop).state], ['restored', 'stopped']);
    assert.equal(await workspace.isRunning(), false);
    await workspace.start();
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });

  test('lets a start wait, which then has the files of the stop', async () => {
    const held = calls.hold(isArchiving);
    const stop = workspace.stop();
    await held.reached;
    const start = workspace.start();
    held.release();
    assert.deepEqual([(await stop).state, (await start).how], ['stopped', 'restored']);
    assert.equal((await start).restoredFrom, (await stop).lastSnapshot?.id);
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });

  test('goes on when its caller goes away; a start that was waiting for it is not done then', async () => {
    const held = calls.hold(isArchiving);
    const asked = (operation: string) =>
      world.failure(world.rpc(`workspaces/${operation}`, { name: workspace.name }, true));
    const stop = asked('stop');
    await held.reached;
    const start = asked('start');
    await workspace.describe();
    await world.abort();
    assert.deepEqual([(await stop).code, (await start).code], ['ABORTED', 'ABORTED']);
    held.release();
    await until(async () => (await workspace.state()) === 'stopped');
    await workspace.stop();
    assert.deepEqual([await workspace.state(), await workspace.isRunning()], ['stopped', false]);
    assert.equal((await workspace.snapshots()).length, 1);
  });
});

describe('a stop that fails', () => {
  test('because no archive can be made leaves the workspace running, and says why', async () => {
    const refuse = () => Promise.reject(new Error('no room for the archive'));
    calls.meet(isArchiving, refuse);
    const objects = await world.objects();
    const error = await world.failure(workspace.stop());
    assert.match(error.message, /no room for the archive/);
    const { state, problem, lastSnapshot, history } = await workspace.describe();
    assert.deepEqual([state, problem?.code, lastSnapshot], ['active', error.code, undefined]);
    assert.deepEqual(history[0]?.cause, `it could not be stopped: ${error.code}`);
    assert.deepEqual(await world.objects(), objects);
    await goesOn();
    assert.equal((await workspace.describe()).problem, undefined);
  });

  test('because its directory was moved away leaves the workspace running', async () => {
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

  test('because its container dies says so, and the last snapshot is there', async () => {
    const { ref } = await world.snapshot(await workspace.sandboxId());
    calls.meet(isArchiving, ({ sandboxId }) => world.killHex(sandboxId), 1);
    const error = await world.failure(workspace.stop());
    assert.ok(['SANDBOX_REPLACED', 'BACKUP_INTERRUPTED'].includes(error.code ?? ''), error.message);
    assert.equal((await workspace.start()).restoredFrom, ref.snapshotId);
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });
});

describe('while a workspace is being started', () => {
  test('its sandbox is not captured', async () => {
    const { sandboxId } = await workspace.stop();
    const held = calls.hold(isUnpacking);
    const start = workspace.start();
    await held.reached;
    for (const options of [{}, { wake: true }]) {
      const error = await world.failure(world.snapshot(sandboxId, options));
      assert.deepEqual([error.code, error.retryable], ['SANDBOX_STARTING', true]);
    }
    held.release();
    assert.equal((await start).how, 'restored');
    assert.equal((await workspace.snapshots()).length, 1);
    await world.snapshot(sandboxId);
  });

  test('and its container dies, another one is filled', async () => {
    await workspace.stop();
    calls.meet(isUnpacking, ({ sandboxId }) => world.killHex(sandboxId), 1);
    assert.equal((await workspace.start()).how, 'restored');
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });
});
