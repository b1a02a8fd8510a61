// A sandbox whose container ended, and which a command of the application started again: its files count only once they are adopted.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { until, World } from './world.ts';
import type { SnapshotRef } from '../client/src/index.ts';

let world: World;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

/** Captures a sandbox, ends its container, and starts an empty one by a command. Returns the snapshot. */
async function coldStarted(id: string, command: string): Promise<SnapshotRef> {
  await world.exec(id, 'echo first > file');
  const snapshot = await world.snapshot(id);
  await world.sandbox(id, 'destroy');
  // While the SDK still sees to the container that ended, it asks to try again.
  await until(async () =>
    world.exec(id, command).then(
      () => true,
      (error: Error) => {
        assert.equal(error.name, 'OperationInterruptedError', error.message);
        return false;
      },
    ),
  );
  return snapshot;
}

test('a snapshot of a cold-started container is refused', async () => {
  const good = await coldStarted('refused', 'echo second > file');
  const error = await world.failure(world.snapshot('refused'));
  assert.equal(error.code, 'SANDBOX_REPLACED', error.message);
  assert.match(error.remediation ?? '', /adopt: true/);
  await world.restores(good, 'cat file', 'first\n');
});

test('its files are adopted in a rescue snapshot, and the next snapshot counts', async () => {
  await coldStarted('adopted', 'echo second > file');
  const rescue = await world.snapshot('adopted', { adopt: true });
  assert.equal(rescue.capture.rescue, true);
  await world.exec('adopted', 'echo third > file');
  const next = await world.snapshot('adopted');
  assert.ok(!next.capture.rescue);
  await world.restores(rescue, 'cat file', 'second\n');
  await world.restores(next, 'cat file', 'third\n');
});

test('an empty directory is not adopted', async () => {
  await coldStarted('empty', 'true');
  const error = await world.failure(world.snapshot('empty', { adopt: true }));
  assert.equal(error.code, 'SANDBOX_EMPTY', error.message);
});
