// Expiry: an idle workspace is stopped with a snapshot, and can be started again.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { World } from '../world.ts';
import { CallInterceptor, isArchiving } from './calls.ts';
import type { NamedWorkspace } from './named.ts';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 24 * HOUR;

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

async function createWorkspace(options: object = {}) {
  await workspace.create(options);
  await workspace.exec('echo x > file');
}

async function assertRestarts() {
  assert.equal((await workspace.start()).how, 'restored');
  assert.equal(await workspace.exec('cat file'), 'x\n');
}

describe('an idle workspace', () => {
  test('is stopped after ten minutes, and can be started again', async () => {
    await createWorkspace();
    await workspace.advanceClock(9 * MINUTE);
    assert.equal(await workspace.state(), 'active');
    // The file was written after the creation, so the workspace is not idle at the first check. The checks take time.
    await workspace.advanceClock(12 * MINUTE);
    const { state, history, lastSnapshot, endsAt } = await workspace.describe();
    assert.deepEqual([state, endsAt], ['stopped', undefined]);
    assert.match(history[0]!.cause, /^it was idle for 600 seconds; the snapshot .* was taken$/);
    assert.equal(await workspace.isRunning(), false);
    assert.deepEqual(await workspace.snapshots(), [lastSnapshot?.id]);
    await assertRestarts();
  });

  test('is stopped after its configured idle time', async () => {
    await createWorkspace({ expiry: { idleSeconds: DAY } });
    await workspace.advanceClock(DAY - MINUTE);
    assert.equal(await workspace.state(), 'active');
    await workspace.advanceClock(DAY + 2 * MINUTE);
    assert.equal(await workspace.state(), 'stopped');
  });

  test('keeps running with idleSeconds 0', async () => {
    await createWorkspace({ expiry: { idleSeconds: 0 } });
    assert.equal((await workspace.describe()).endsAt, undefined);
    await workspace.advanceClock(30 * DAY);
    assert.equal(await workspace.state(), 'active');
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });

  test('is stopped without a snapshot if it is not persistent', async () => {
    await createWorkspace({ persistent: false });
    await workspace.advanceClock(21 * MINUTE);
    const { state, lastSnapshot } = await workspace.describe();
    assert.deepEqual([state, lastSnapshot, calls.count(isArchiving)], ['stopped', undefined, 0]);
    assert.equal(await workspace.isRunning(), false);
  });

  test('stays stopped', async () => {
    await createWorkspace();
    await workspace.stop();
    await workspace.advanceClock(30 * DAY);
    assert.equal(calls.count(isArchiving), 1);
    assert.equal((await workspace.describe()).history[0]?.to, 'stopped');
    await workspace.advanceClock(60 * DAY);
    await assertRestarts();
  });
});

describe('the idle time', () => {
  test('begins again with a changed file', async () => {
    await createWorkspace();
    for (let times = 0; times < 3; times += 1) {
      await workspace.advanceClock(9 * MINUTE);
      await workspace.exec('touch file');
    }
    assert.equal(await workspace.state(), 'active');
    await workspace.advanceClock(21 * MINUTE);
    await assertRestarts();
  });

  test('begins again with a call that uses the workspace', async () => {
    await createWorkspace();
    await workspace.advanceClock(10 * MINUTE);
    for (const call of [
      () => workspace.start(),
      () => workspace.fork(),
      () => workspace.update({ env: {} }),
    ]) {
      await workspace.advanceClock(9 * MINUTE);
      await call();
    }
    assert.equal(await workspace.state(), 'active');
    await workspace.advanceClock(9 * MINUTE);
    assert.equal(await workspace.state(), 'active');
    await workspace.advanceClock(11 * MINUTE);
    assert.equal(await workspace.state(), 'stopped');
  });

  test('does not begin again with a read of the description', async () => {
    await createWorkspace();
    await workspace.advanceClock(10 * MINUTE);
    await workspace.advanceClock(9 * MINUTE);
    await workspace.describe();
    await workspace.advanceClock(2 * MINUTE);
    assert.equal(await workspace.state(), 'stopped');
  });
});

describe('a workspace with a maximum time', () => {
  test('is stopped at that time despite activity', async () => {
    await createWorkspace({ expiry: { idleSeconds: 0, maxSeconds: HOUR } });
    await workspace.advanceClock(HOUR - MINUTE);
    await workspace.exec('touch file');
    await workspace.start();
    await workspace.advanceClock(2 * MINUTE);
    const { state, history } = await workspace.describe();
    assert.equal(state, 'stopped');
    assert.match(history[0]!.cause, /^its time limit of 3600 seconds has passed/);
    await assertRestarts();
    await workspace.advanceClock(HOUR - MINUTE);
    assert.equal(await workspace.state(), 'active', 'the maximum time begins with the last start');
  });
});

describe('a workspace whose stop at its end fails', () => {
  test('keeps running, has the problem in its description, and is stopped later', async () => {
    await createWorkspace();
    await workspace.advanceClock(10 * MINUTE);
    calls.intercept(isArchiving, () => Promise.reject(new Error('no space')), 2);
    await workspace.advanceClock(11 * MINUTE);
    const { state, problem } = await workspace.describe();
    assert.equal(state, 'active');
    assert.match(problem?.message ?? '', /no space/);
    assert.equal(await workspace.exec('cat file'), 'x\n');
    await workspace.advanceClock(5 * MINUTE);
    assert.equal(await workspace.state(), 'stopped');
    await assertRestarts();
  });
});

describe('a workspace whose container ended before its time', () => {
  test('is stopped with its last snapshot', async () => {
    await createWorkspace();
    const { lastSnapshot } = await workspace.stop();
    await workspace.start();
    await workspace.endContainer();
    await workspace.advanceClock(11 * MINUTE);
    const stopped = await workspace.describe();
    assert.deepEqual([stopped.state, stopped.lastSnapshot], ['stopped', lastSnapshot]);
    assert.equal(stopped.containerEnded, true, 'newer files may be lost');
    assert.equal(await workspace.isRunning(), false, 'the stop starts no container');
    await assertRestarts();
  });
});

describe('the sleep timeout of a sandbox', () => {
  const sleepTimeout = async () => world.sandbox(await workspace.sandboxId(), 'sleepTimeout');

  test('is longer than the idle time of its workspace', async () => {
    await createWorkspace({ expiry: { idleSeconds: HOUR } });
    assert.ok((await sleepTimeout()) > HOUR);
    workspace = world.workspace(`${workspace.name}-always`);
    await createWorkspace({ expiry: { idleSeconds: 0 } });
    assert.equal(await sleepTimeout(), 'always');
  });

  test('follows an update of the idle time', async () => {
    await createWorkspace({ expiry: { idleSeconds: MINUTE } });
    await workspace.update({ expiry: { idleSeconds: HOUR } });
    assert.ok((await sleepTimeout()) > HOUR, 'otherwise the files would be lost before the stop');
    await workspace.update({ expiry: { idleSeconds: 0 } });
    assert.equal(await sleepTimeout(), 'always');
    await workspace.update({ expiry: { idleSeconds: HOUR } });
    assert.ok((await sleepTimeout()) > HOUR);
  });
});

describe('a stop at the end of the time', () => {
  test('runs the hooks onTimeout and beforeStop in this order', async () => {
    const hooks = {
      onTimeout: { command: 'echo timeout >> order' },
      beforeStop: { command: 'echo stop >> order' },
    };
    await createWorkspace({ hooks });
    await workspace.advanceClock(21 * MINUTE);
    assert.equal(await workspace.state(), 'stopped');
    await workspace.start();
    assert.equal(await workspace.exec('cat order'), 'timeout\nstop\n');
    await workspace.stop();
    await workspace.start();
    assert.equal(await workspace.exec('cat order'), 'timeout\nstop\nstop\n');
  });
});
