// Sandboxes that leave calls unanswered: every operation ends after the time limit of the call, and no files are lost.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';

import { UNANSWERED_MODES, BEYOND_TIME_LIMITS, runPastTimeLimits } from '../unanswered.ts';
import { World } from '../world.ts';
import type { NamedWorkspace } from './named.ts';

/** The methods of the SDK that stops and starts call. */
const IN_STOP = ['getState', 'configure', 'execWithSessionToken', 'exec', 'createBackup', 'destroy'];
const IN_START = ['getState', 'configure', 'setEnvVars', 'execWithSessionToken', 'exec', 'restoreBackup'];

let world: World;
let count = 0;
let workspace: NamedWorkspace;

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

/** Answers calls again, and asserts that the workspace starts with its newest file, stops, and can be deleted. */
async function assertUsable() {
  await world.rpc('leaveUnanswered', {});
  await workspace.advanceClock(2 * BEYOND_TIME_LIMITS);
  await workspace.start();
  assert.equal(await workspace.exec('cat file'), 'second\n');
  await workspace.stop();
  await workspace.delete();
}

for (const mode of UNANSWERED_MODES) {
  describe(`an unanswered and ${mode} call of`, () => {
    for (const method of IN_STOP) {
      test(`${method} does not block a stop, and no files are lost`, async () => {
        await world.rpc('leaveUnanswered', { [method]: mode });
        await runPastTimeLimits(world, workspace.stop());
        await assertUsable();
      });
    }

    for (const method of IN_START) {
      test(`${method} does not block a start, and no files are lost`, async () => {
        await workspace.stop();
        await world.rpc('leaveUnanswered', { [method]: mode });
        await runPastTimeLimits(world, workspace.start());
        await assertUsable();
      });
    }

    test('destroy does not block a deletion', async () => {
      await world.rpc('leaveUnanswered', { destroy: mode });
      assert.ok(await runPastTimeLimits(world, workspace.delete()));
    });
  });
}
