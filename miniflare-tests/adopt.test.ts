// A sandbox whose container ended and that a command of the application cold-started. Snapshots of it require `adopt`.

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
async function coldStart(id: string, command: string): Promise<SnapshotRef> {
  await world.exec(id, 'echo first > file');
  const snapshot = await world.snapshot(id);
  await world.sandbox(id, 'destroy');
  // The command can be retried while the SDK still handles the end of the container.
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
  const good = await coldStart('refused', 'echo second > file');
  const error = await world.failure(world.snapshot('refused'));
  assert.equal(error.code, 'SANDBOX_REPLACED', error.message);
  assert.match(error.remediation ?? '', /adopt: true/);
  await world.assertRestores(good, 'cat file', 'first\n');
});

test('adopt saves its files in a rescue snapshot, and the next snapshot is a regular one', async () => {
  await coldStart('adopted', 'echo second > file');
  const rescue = await world.snapshot('adopted', { adopt: true });
  assert.equal(rescue.capture.rescue, true);
  await world.exec('adopted', 'echo third > file');
  const next = await world.snapshot('adopted');
  assert.ok(!next.capture.rescue);
  await world.assertRestores(rescue, 'cat file', 'second\n');
  await world.assertRestores(next, 'cat file', 'third\n');
});

test('an empty directory is not adopted', async () => {
  await coldStart('empty', 'true');
  const error = await world.failure(world.snapshot('empty', { adopt: true }));
  assert.equal(error.code, 'SANDBOX_EMPTY', error.message);
});
