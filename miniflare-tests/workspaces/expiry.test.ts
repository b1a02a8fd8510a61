// A workspace that nobody uses is stopped by itself, with a snapshot; whoever comes back starts it again.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { World } from '../world.ts';
import { Calls, isArchiving } from './calls.ts';
import type { Named } from './named.ts';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 24 * HOUR;

const calls = new Calls();
let world: World;
let count = 0;
let workspace: Named;

before(async () => {
  const main = fileURLToPath(new URL('../caller/underway.ts', import.meta.url));
  world = await World.start({ clock: true, caller: { main }, onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  await world.rpc('trueTime');
  calls.reset();
  workspace = world.workspace(`agent-${++count}`);
});

async function make(options: object = {}) {
  await workspace.create(options);
  await workspace.exec('echo x > file');
}

async function startsAgain() {
  assert.equal((await workspace.start()).how, 'restored');
  assert.equal(await workspace.exec('cat file'), 'x\n');
}

describe('a workspace that nothing happens with', () => {
  test('is stopped after ten minutes without anything, and can be started again', async () => {
    await make();
    await workspace.elapse(9 * MINUTE);
    assert.equal(await workspace.state(), 'active');
    // The file was written after the workspace was made: the first time it is not idle.
    await workspace.elapse(11 * MINUTE);
    const { state, history, lastSnapshot, endsAt } = await workspace.describe();
    assert.deepEqual([state, endsAt], ['stopped', undefined]);
    assert.match(history[0]!.cause, /^nothing happened with it for 600 seconds; the snapshot .* was taken$/);
    assert.equal(await workspace.isRunning(), false);
    assert.deepEqual(await workspace.snapshots(), [lastSnapshot?.id]);
    await startsAgain();
  });

  test('is stopped after the time that its maker chose', async () => {
    await make({ expiry: { idleSeconds: DAY } });
    await workspace.elapse(DAY - MINUTE);
    assert.equal(await workspace.state(), 'active');
    await workspace.elapse(DAY + 2 * MINUTE);
    assert.equal(await workspace.state(), 'stopped');
  });

  test('runs on where its maker chose so', async () => {
    await make({ expiry: { idleSeconds: 0 } });
    assert.equal((await workspace.describe()).endsAt, undefined);
    await workspace.elapse(30 * DAY);
    assert.equal(await workspace.state(), 'active');
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });

  test('is stopped without a snapshot where it does not persist', async () => {
    await make({ persistent: false });
    await workspace.elapse(21 * MINUTE);
    const { state, lastSnapshot } = await workspace.describe();
    assert.deepEqual([state, lastSnapshot, calls.count(isArchiving)], ['stopped', undefined, 0]);
    assert.equal(await workspace.isRunning(), false);
  });

  test('stays stopped', async () => {
    await make();
    await workspace.stop();
    await workspace.elapse(30 * DAY);
    assert.equal(calls.count(isArchiving), 1);
    assert.equal((await workspace.describe()).history[0]?.to, 'stopped');
    await workspace.elapse(60 * DAY);
    await startsAgain();
  });
});

describe('the time begins again', () => {
  test('with a file that is changed', async () => {
    await make();
    for (let times = 0; times < 3; times += 1) {
      await workspace.elapse(9 * MINUTE);
      await workspace.exec('touch file');
    }
    assert.equal(await workspace.state(), 'active');
    await workspace.elapse(21 * MINUTE);
    await startsAgain();
  });

  test('with a call about the workspace', async () => {
    await make();
    await workspace.elapse(10 * MINUTE);
    for (const call of [
      () => workspace.start(),
      () => workspace.fork(),
      () => workspace.update({ env: {} }),
    ]) {
      await workspace.elapse(9 * MINUTE);
      await call();
    }
    assert.equal(await workspace.state(), 'active');
    await workspace.elapse(9 * MINUTE);
    assert.equal(await workspace.state(), 'active');
    await workspace.elapse(11 * MINUTE);
    assert.equal(await workspace.state(), 'stopped');
  });

  test('not by looking at it', async () => {
    await make();
    await workspace.elapse(10 * MINUTE);
    await workspace.elapse(9 * MINUTE);
    await workspace.describe();
    await workspace.elapse(2 * MINUTE);
    assert.equal(await workspace.state(), 'stopped');
  });
});

describe('a workspace with a hard limit', () => {
  test('is stopped when it is reached, whatever happens', async () => {
    await make({ expiry: { idleSeconds: 0, maxSeconds: HOUR } });
    await workspace.elapse(HOUR - MINUTE);
    await workspace.exec('touch file');
    await workspace.start();
    await workspace.elapse(2 * MINUTE);
    const { state, history } = await workspace.describe();
    assert.equal(state, 'stopped');
    assert.match(history[0]!.cause, /^3600 seconds had passed since it was started/);
    await startsAgain();
    await workspace.elapse(HOUR - MINUTE);
    assert.equal(await workspace.state(), 'active', 'it counts from the last start');
  });
});

describe('a workspace that can not be stopped when its time is over', () => {
  test('runs on, says why, and is asked again', async () => {
    await make();
    await workspace.elapse(10 * MINUTE);
    calls.meet(isArchiving, () => Promise.reject(new Error('no room')), 2);
    await workspace.elapse(11 * MINUTE);
    const { state, problem } = await workspace.describe();
    assert.equal(state, 'active');
    assert.match(problem?.message ?? '', /no room/);
    assert.equal(await workspace.exec('cat file'), 'x\n');
    await workspace.elapse(5 * MINUTE);
    assert.equal(await workspace.state(), 'stopped');
    await startsAgain();
  });
});

describe('a workspace whose sandbox had ended before its time was over', () => {
  test('is stopped with what it had', async () => {
    await make();
    const { lastSnapshot } = await workspace.stop();
    await workspace.start();
    await workspace.fallAsleep();
    await workspace.elapse(11 * MINUTE);
    const stopped = await workspace.describe();
    assert.deepEqual([stopped.state, stopped.lastSnapshot], ['stopped', lastSnapshot]);
    assert.equal(await workspace.isRunning(), false, 'nothing was started to look');
    await startsAgain();
  });
});

describe('the sandbox stays awake longer than its workspace', () => {
  const awake = async () => world.sandbox(await workspace.sandboxId(), 'awake');

  test('from the start on', async () => {
    await make({ expiry: { idleSeconds: HOUR } });
    assert.ok((await awake()) > HOUR);
    workspace = world.workspace(`${workspace.name}-always`);
    await make({ expiry: { idleSeconds: 0 } });
    assert.equal(await awake(), 'always');
  });

  test('also when that is to be active for longer from now on', async () => {
    await make({ expiry: { idleSeconds: MINUTE } });
    await workspace.update({ expiry: { idleSeconds: HOUR } });
    assert.ok((await awake()) > HOUR, 'or its files would be lost before they are saved');
    await workspace.update({ expiry: { idleSeconds: 0 } });
    assert.equal(await awake(), 'always');
    await workspace.update({ expiry: { idleSeconds: HOUR } });
    assert.ok((await awake()) > HOUR);
  });
});

describe('the hooks of an end by time', () => {
  test('are onTimeout, and then beforeStop', async () => {
    const hooks = {
      onTimeout: { command: 'echo timeout >> order' },
      beforeStop: { command: 'echo stop >> order' },
    };
    await make({ hooks });
    await workspace.elapse(21 * MINUTE);
    assert.equal(await workspace.state(), 'stopped');
    await workspace.start();
    assert.equal(await workspace.exec('cat order'), 'timeout\nstop\n');
    await workspace.stop();
    await workspace.start();
    assert.equal(await workspace.exec('cat order'), 'timeout\nstop\nstop\n');
  });
});
