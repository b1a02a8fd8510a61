// A sandbox that leaves calls unanswered: every operation is answered when the call's time limit has passed, and nothing is lost.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';

import { HOW, LIMIT, outlast } from '../unanswered.ts';
import { World } from '../world.ts';
import type { Named } from './named.ts';

/** The methods of the SDK that an operation calls. */
const IN_STOP = ['getState', 'configure', 'execWithSessionToken', 'exec', 'createBackup', 'destroy'];
const IN_START = ['getState', 'configure', 'setEnvVars', 'execWithSessionToken', 'exec', 'restoreBackup'];

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
        await outlast(world, workspace.stop());
        await isUsable();
      });
    }

    for (const method of IN_START) {
      test(`${method} in a start: that is answered, and what was saved is kept`, async () => {
        await workspace.stop();
        await world.rpc('leaveUnanswered', { [method]: how });
        await outlast(world, workspace.start());
        await isUsable();
      });
    }

    test('destroy in a deletion: the workspace is deleted', async () => {
      await world.rpc('leaveUnanswered', { destroy: how });
      assert.ok(await outlast(world, workspace.delete()));
    });
  });
}
