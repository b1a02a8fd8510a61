// A sandbox that does not answer calls: snapshots and restores end after the time limit of the call, and can be repeated.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';

import { UNANSWERED_MODES, BEYOND_TIME_LIMITS, runPastTimeLimits } from './unanswered.ts';
import { World } from './world.ts';

/** The methods of the SDK that an operation calls. */
const IN_SNAPSHOT = ['getState', 'execWithSessionToken', 'exec', 'createBackup'];
const IN_RESTORE = ['exec', 'restoreBackup'];

let world: World;
let count = 0;
let agent: string;

before(async () => {
  world = await World.start({ clock: true });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  agent = `agent-${++count}`;
  await world.exec(agent, 'echo first > file');
});
afterEach(() => world.rpc('leaveUnanswered', {}));

for (const mode of UNANSWERED_MODES) {
  describe(`if a call to a sandbox is not answered, and ${mode},`, () => {
    for (const method of IN_SNAPSHOT) {
      test(`${method} in a first snapshot does not make the next snapshot a rescue snapshot`, async () => {
        await world.rpc('leaveUnanswered', { [method]: mode });
        await runPastTimeLimits(world, world.snapshot(agent));
        await world.rpc('leaveUnanswered', {});
        await world.advanceClock(agent, 2 * BEYOND_TIME_LIMITS);
        const snapshot = await world.snapshot(agent);
        assert.equal(snapshot.capture.rescue, undefined);
        await world.assertRestores(snapshot, 'cat file', 'first\n');
      });
    }

    for (const method of IN_RESTORE) {
      test(`${method} in a restore leaves no sandbox, and the next restore succeeds`, async () => {
        const snapshot = await world.snapshot(agent);
        const before = world.running().length;
        await world.rpc('leaveUnanswered', { [method]: mode });
        assert.ok(!(await runPastTimeLimits(world, world.restore(snapshot))));
        await world.rpc('leaveUnanswered', {});
        await world.advanceClock(agent, 2 * BEYOND_TIME_LIMITS);
        assert.equal(world.running().length, before);
        await world.assertRestores(snapshot, 'cat file', 'first\n');
      });
    }
  });
}
