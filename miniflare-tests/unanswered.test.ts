// A sandbox that leaves calls unanswered: snapshots and restores are answered when the call's time limit has passed, and can be made
// again.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';

import { HOW, LIMIT, outlast } from './unanswered.ts';
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

for (const how of HOW) {
  describe(`a call that is not answered, and ${how}`, () => {
    for (const method of IN_SNAPSHOT) {
      test(`${method} in a first snapshot: the container counts all the same in the next`, async () => {
        await world.rpc('leaveUnanswered', { [method]: how });
        await outlast(world, world.snapshot(agent));
        await world.rpc('leaveUnanswered', {});
        await world.elapse(agent, 2 * LIMIT);
        const snapshot = await world.snapshot(agent);
        assert.equal(snapshot.capture.rescue, undefined);
        await world.restores(snapshot, 'cat file', 'first\n');
      });
    }

    for (const method of IN_RESTORE) {
      test(`${method} in a restore: it leaves no sandbox behind, and the next one succeeds`, async () => {
        const snapshot = await world.snapshot(agent);
        const before = world.running().length;
        await world.rpc('leaveUnanswered', { [method]: how });
        assert.ok(!(await outlast(world, world.restore(snapshot))));
        await world.rpc('leaveUnanswered', {});
        await world.elapse(agent, 2 * LIMIT);
        assert.equal(world.running().length, before);
        await world.restores(snapshot, 'cat file', 'first\n');
      });
    }
  });
}
