// What people learn of a deployment from its log and its metrics: a line and a data point for each operation, and a line for
// what was done without anybody asking.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { after, before, beforeEach, describe, test } from 'node:test';

import { until, World } from './world.ts';

const METERED = fileURLToPath(new URL('./caller/metered.mjs', import.meta.url));

const MINUTE = 60;

/** The lines of a world's log about an event, the newest last. */
function lines(world: World, event: string): Record<string, any>[] {
  const ours = world.log.filter((line) => line.startsWith('{"')).map((line) => JSON.parse(line));
  return ours.filter((line) => line.event === event);
}

/** The newest line about an event. */
function line(world: World, event: string): Record<string, any> {
  const found = lines(world, event).at(-1);
  assert.ok(found, `no line about ${event}`);
  return found;
}

describe('the line of an operation', () => {
  let world: World;
  before(async () => {
    world = await World.start({ clock: true });
    await world.exec('origin', 'echo x > file');
  });
  after(() => world[Symbol.asyncDispose]());

  test('tells its ids, its size, its time and its attempts', async () => {
    const { ref, capture } = await world.snapshot('origin');
    const { durationMs, correlationId, ...rest } = line(world, 'snapshot');
    assert.deepEqual(rest, {
      event: 'snapshot',
      outcome: 'success',
      snapshotId: ref.snapshotId,
      originId: 'origin',
      rootId: 'origin',
      sizeBytes: capture.sizeBytes,
      attempts: 1,
    });
    assert.ok(durationMs > 0);
    assert.match(correlationId, /^[0-9a-f]{16}$/);
  });

  test('tells of a failure what it was about, and its code', async () => {
    const error = await world.failure(world.rpc('get', { sandboxId: 'origin', label: 'nothing' }));
    const { durationMs: _, ...rest } = line(world, 'get');
    assert.deepEqual(rest, {
      event: 'get',
      outcome: 'failure',
      code: 'SNAPSHOT_NOT_FOUND',
      correlationId: error.correlationId,
      originId: 'origin',
      attempts: 1,
    });
  });

  test('names what was let go by it', async () => {
    const first = await world.snapshot('origin', { label: 'first' });
    await world.snapshot('origin', { label: 'second', fresh: true });
    await world.rpc('setRetention', { sandboxId: 'origin', policy: { keepLast: { count: 1 } } });
    const { letGo } = line(world, 'setRetention');
    assert.ok(letGo.ids.includes(first.ref.snapshotId), JSON.stringify(letGo));
    assert.equal(letGo.count, letGo.ids.length);
  });

  test('has the correlation id of every transition that it made', async () => {
    await world.workspace('traced').create();
    const { correlationId } = line(world, 'workspaces/create');
    const made = lines(world, 'workspace.transition').filter(({ name }) => name === 'traced');
    assert.deepEqual(
      made.map((transition) => transition.correlationId),
      [correlationId, correlationId],
    );
  });
});

test('what an alarm lets go is told in a line of its own', async () => {
  await using world = await World.start({ clock: true });
  await world.exec('origin', 'echo x > file');
  const old = await world.snapshot('origin', { expirationSeconds: MINUTE });
  await world.snapshot('origin', { label: 'new', fresh: true });
  await world.elapse('origin', 2 * MINUTE);
  await until(() => lines(world, 'alarm').length > 0);
  const { sandboxId, outcome, letGo } = line(world, 'alarm');
  assert.deepEqual(
    [sandboxId, outcome, letGo],
    ['origin', 'success', { count: 1, ids: [old.ref.snapshotId] }],
  );
});

describe('what goes on after its caller has left', () => {
  let world: World;
  let holdAt: ((method: string, command: string) => boolean) | undefined;
  let held: PromiseWithResolvers<void>;
  let release: PromiseWithResolvers<void>;
  before(async () => {
    world = await World.start({
      onCall: async ({ method, command = '' }) => {
        if (!holdAt?.(method, command)) return;
        holdAt = undefined;
        held.resolve();
        await release.promise;
      },
    });
    await world.exec('origin', 'echo x > file');
  });
  beforeEach(() => {
    held = Promise.withResolvers();
    release = Promise.withResolvers();
  });
  after(() => world[Symbol.asyncDispose]());

  test('is told in a line with the same correlation id', async () => {
    holdAt = (_, command) => command.includes('unsquashfs');
    const ref = await world.snapshot('origin');
    const call = world.failure(world.rpc('restore', { ref }, true));
    await held.promise;
    await world.abort();
    const { code, correlationId } = await call;
    assert.equal(code, 'ABORTED');
    release.resolve();
    await until(() => lines(world, 'background').length > 0);
    const told = line(world, 'background');
    assert.equal(told.correlationId, correlationId);
    assert.equal(told.ended.count, 1);
    assert.match(told.ended.ids[0], /^origin-restored-/);
  });
});

describe('Analytics Engine', () => {
  test('gets a data point for each operation', async () => {
    await using world = await World.start({ snapshotter: { main: METERED } });
    await world.exec('origin', 'echo x > file');
    const { capture } = await world.snapshot('origin', { label: 'a-secret-label' });
    await world.failure(world.rpc('restore', { sandboxId: 'origin', label: 'nothing' }));
    const points = world.log
      .filter((text) => text.startsWith('{"point"'))
      .map((text) => JSON.parse(text).point);
    const [taken, failed] = points;
    assert.deepEqual(taken.indexes, ['snapshot']);
    assert.deepEqual(taken.blobs, ['snapshot', 'success', '', '']);
    const [durationMs, ...numbers] = taken.doubles;
    assert.deepEqual([durationMs > 0, numbers], [true, [capture.sizeBytes, 1]]);
    assert.deepEqual(failed.blobs, ['restore', 'failure', 'SNAPSHOT_NOT_FOUND', '']);
    assert.ok(!JSON.stringify(points).includes('secret'));
  });

  test('is as well with the binding of the platform', async () => {
    const metrics = { METRICS: { type: 'analytics-engine-dataset', name: 'snapshotter' } } as const;
    await using world = await World.start({ snapshotter: { bindings: metrics } });
    const { ok, checks } = await world.rpc('health', {});
    const check = checks.find(({ name }: { name: string }) => name === 'metrics');
    assert.deepEqual([ok, check.ok], [true, true]);
  });
});
