// A sandbox that leaves calls unanswered: every operation is answered when the call's time limit has passed, and nothing is lost.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';

import { until, World } from '../world.ts';
import type { Named } from './named.ts';

/** The methods of the SDK that an operation calls. */
const IN_STOP = ['getState', 'configure', 'execWithSessionToken', 'exec', 'createBackup', 'destroy'];
const IN_START = ['getState', 'configure', 'setEnvVars', 'execWithSessionToken', 'exec', 'restoreBackup'];

/** Whether a call that is not answered is carried out. */
const HOW = ['lost', 'carried out'];

/** More than any time limit is, in seconds. */
const LIMIT = 3700;

let world: World;
let count = 0;
let workspace: Named;

before(async () => {
  world = await World.start({ clock: true });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  workspace = world.workspace(`work-${++count}`);
  await workspace.create({ env: { KEY: 'sesame' } });
  await workspace.exec('echo first > file');
  await workspace.stop();
  await workspace.start();
  await workspace.exec('echo second > file');
});
afterEach(() => world.rpc('leaveUnanswered', {}));

/** Lets the time limit of each unanswered call pass until the work has settled. Returns whether it succeeded. */
async function outlast(work: Promise<unknown>): Promise<boolean> {
  let isDone: boolean | undefined;
  const settled = work.then(
    () => (isDone = true),
    (error: Error & { code?: string }) => {
      isDone = false;
      assert.ok(error.code !== undefined && error.code !== 'INTERNAL', error.message);
    },
  );
  settled.catch(() => {}); // It is awaited below.
  for (let passed = 0; isDone === undefined;) {
    await until(async () => isDone !== undefined || (await world.rpc('unanswered')) > passed);
    passed = await world.rpc('unanswered');
    if (isDone === undefined) await world.rpc('elapse', { seconds: LIMIT });
  }
  await settled;
  assert.notEqual(await world.rpc('unanswered'), 0, 'no call was left unanswered');
  return isDone;
}

/** Calls are answered again: the workspace starts with its newest file, stops, and can be deleted. */
async function isUsable() {
  await world.rpc('leaveUnanswered', {});
  await workspace.elapse(2 * LIMIT);
  await workspace.start();
  assert.equal(await workspace.exec('cat file'), 'second\n');
  await workspace.stop();
  await workspace.delete();
}

for (const how of HOW) {
  describe(`a call that is not answered, and ${how}`, () => {
    for (const method of IN_STOP) {
      test(`${method} in a stop: that is answered, and what was written is kept`, async () => {
        await world.rpc('leaveUnanswered', { [method]: how });
        await outlast(workspace.stop());
        await isUsable();
      });
    }

    for (const method of IN_START) {
      test(`${method} in a start: that is answered, and what was saved is kept`, async () => {
        await workspace.stop();
        await world.rpc('leaveUnanswered', { [method]: how });
        await outlast(workspace.start());
        await isUsable();
      });
    }

    test('destroy in a deletion: the workspace is deleted', async () => {
      await world.rpc('leaveUnanswered', { destroy: how });
      assert.ok(await outlast(workspace.delete()));
    });
  });
}
