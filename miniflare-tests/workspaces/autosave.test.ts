// Automatic saves with the clock moved, and changes during captures.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { World } from '../world.ts';
import { CallInterceptor, isArchiving } from './calls.ts';
import type { NamedWorkspace } from './named.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;

const calls = new CallInterceptor();
let world: World;
let count = 0;
let workspace: NamedWorkspace;

before(async () => {
  const main = fileURLToPath(new URL('../caller/active-backups.ts', import.meta.url));
  world = await World.start({ clock: true, caller: { main }, onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  await world.rpc('resetClock');
  calls.reset();
  workspace = world.workspace(`agent-${++count}`);
});

describe('a workspace that saves automatically', () => {
  test('loses at most the changes since the last save', async () => {
    await workspace.create({ autosave: { everySeconds: 5 * MINUTE }, expiry: { idleSeconds: 0 } });
    await workspace.exec('echo saved > file');
    await workspace.advanceClock(6 * MINUTE);
    assert.equal((await workspace.snapshots()).length, 1);
    const { lastSavedAt, unsavedSince } = await workspace.describe();
    assert.deepEqual([typeof lastSavedAt, unsavedSince], ['string', undefined]);
    // Nothing has changed since.
    await workspace.advanceClock(HOUR);
    assert.equal((await workspace.snapshots()).length, 1);
    await workspace.endContainer();
    const { how, restoredFrom } = await workspace.start();
    assert.deepEqual([how, restoredFrom?.snapshotId], ['restored', (await workspace.snapshots())[0]]);
    assert.equal(await workspace.exec('cat file'), 'saved\n');
  });

  test('saves after a turn, and stops when it is idle', async () => {
    await workspace.create({ autosave: { afterTurn: true } });
    await workspace.exec('echo turn > file');
    const { state, saveDueAt } = await workspace.turnEnded();
    assert.deepEqual([state, typeof saveDueAt], ['active', 'string']);
    await workspace.advanceClock(2 * MINUTE);
    assert.equal((await workspace.snapshots()).length, 1);
    await workspace.advanceClock(22 * MINUTE);
    assert.equal(await workspace.state(), 'stopped');
  });
});

describe('a snapshot during which files change', () => {
  test('reports the change, and settles on request', async () => {
    await workspace.create({ expiry: { idleSeconds: 0 } });
    const sandboxId = await workspace.sandboxId();
    await workspace.exec('echo x > file');
    const change = async () => void (await world.exec(sandboxId, 'echo late >> late'));
    calls.intercept(isArchiving, change, 1);
    const { capture } = await world.rpc('snapshot', { sandboxId });
    assert.equal(capture.changedDuringCapture, true);
    calls.reset();
    calls.intercept(isArchiving, change, 1);
    const settled = await world.rpc('snapshot', { sandboxId, consistency: 'settled' });
    assert.deepEqual([settled.capture.changedDuringCapture, calls.count(isArchiving)], [false, 2]);
  });
});
