// Logs and metrics: a line and a data point for each operation, and a line for background work.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { after, before, beforeEach, describe, test } from 'node:test';

import type { Call } from '../local-engine/index.ts';
import { isUnpacking, until, World } from './world.ts';

const METERED = fileURLToPath(new URL('./caller/metered.mjs', import.meta.url));

const MINUTE = 60;

/** Returns the log lines of an event, the newest last. */
function lines(world: World, event: string): Record<string, any>[] {
  const parsed = world.log.filter((line) => line.startsWith('{"')).map((line) => JSON.parse(line));
  return parsed.filter((line) => line.event === event);
}

/** Returns the newest log line of an event. */
function line(world: World, event: string): Record<string, any> {
  const found = lines(world, event).at(-1);
  assert.ok(found, `no line of the event ${event}`);
  return found;
}

describe('the line of an operation', () => {
  let world: World;
  before(async () => {
    world = await World.start({ clock: true });
    await world.exec('origin', 'echo x > file');
  });
  after(() => world[Symbol.asyncDispose]());

  test('has the ids, the size, the duration and the attempts', async () => {
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

  test('has the ids and the code of a failure', async () => {
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

  test('has the ids of the snapshots that the operation deleted', async () => {
    const first = await world.snapshot('origin', { label: 'first' });
    await world.snapshot('origin', { label: 'second', fresh: true });
    await world.rpc('setRetention', { sandboxId: 'origin', policy: { keepLast: { count: 1 } } });
    const { deleted } = line(world, 'setRetention');
    assert.ok(deleted.ids.includes(first.ref.snapshotId), JSON.stringify(deleted));
    assert.equal(deleted.count, deleted.ids.length);
  });

  test('has the correlation id of every transition of the operation', async () => {
    await world.workspace('traced').create();
    const { correlationId } = line(world, 'workspaces/create');
    const transitions = lines(world, 'workspace.transition').filter(({ name }) => name === 'traced');
    assert.deepEqual(
      transitions.map((transition) => transition.correlationId),
      [correlationId, correlationId],
    );
  });
});

test('an alarm logs the deleted snapshots in its own line', async () => {
  await using world = await World.start({ clock: true });
  await world.exec('origin', 'echo x > file');
  const old = await world.snapshot('origin', { expirationSeconds: MINUTE });
  await world.snapshot('origin', { label: 'new', fresh: true });
  await world.advanceClock('origin', 2 * MINUTE);
  await until(() => lines(world, 'alarm').length > 0);
  const { sandboxId, outcome, deleted } = line(world, 'alarm');
  assert.deepEqual(
    [sandboxId, outcome, deleted],
    ['origin', 'success', { count: 1, ids: [old.ref.snapshotId] }],
  );
});

describe('the background work of an aborted call', () => {
  let world: World;
  let blocks: ((call: Call) => boolean) | undefined;
  let reached: PromiseWithResolvers<void>;
  let release: PromiseWithResolvers<void>;
  before(async () => {
    world = await World.start({
      onCall: async (call) => {
        if (!blocks?.(call)) return;
        blocks = undefined;
        reached.resolve();
        await release.promise;
      },
    });
    await world.exec('origin', 'echo x > file');
  });
  beforeEach(() => {
    reached = Promise.withResolvers();
    release = Promise.withResolvers();
  });
  after(() => world[Symbol.asyncDispose]());

  test('is logged in a line with the same correlation id', async () => {
    blocks = isUnpacking;
    const ref = await world.snapshot('origin');
    const call = world.failure(world.rpc('restore', { ref }, true));
    await reached.promise;
    await world.abort();
    const { code, correlationId } = await call;
    assert.equal(code, 'ABORTED');
    release.resolve();
    await until(() => lines(world, 'background').length > 0);
    const background = line(world, 'background');
    assert.equal(background.correlationId, correlationId);
    assert.equal(background.ended.count, 1);
    assert.match(background.ended.ids[0], /^origin-restored-/);
  });
});

describe('the counts in a line', () => {
  let world: World;
  let kills = 0;
  before(async () => {
    world = await World.start({
      onCall: async (call) => {
        if (isUnpacking(call) && kills-- > 0) await world.killByObjectId(call.sandboxId);
      },
    });
  });
  after(() => world[Symbol.asyncDispose]());

  test('of a workspace operation include the attempts and the ended sandboxes', async () => {
    const workspace = world.workspace('unlucky');
    await workspace.create();
    await workspace.exec('echo x > file');
    const { lastSnapshot } = await workspace.stop();
    const stopped = line(world, 'workspaces/stop');
    assert.deepEqual([stopped.snapshotId, stopped.sizeBytes], [lastSnapshot?.id, lastSnapshot?.sizeBytes]);
    assert.equal(stopped.ended.count, 1);
    kills = 1;
    await workspace.start();
    assert.equal(line(world, 'workspaces/start').attempts, 2);
    assert.deepEqual(lines(world, 'background'), []);
  });

  test('of a fork are the created and the failed workspaces', async () => {
    await world.workspace('unlucky').fork({ newName: 'created' });
    kills = Infinity;
    await world.workspace('unlucky').fork({ newName: 'failed' });
    kills = 0;
    const forks = lines(world, 'workspaces/fork').map(({ made, failed }) => [made, failed]);
    assert.deepEqual(forks, [
      [1, 0],
      [0, 1],
    ]);
  });

  test('of a tool call include the ids and the size', async () => {
    await world.exec('origin', 'echo x > file');
    const workspaces = [{ name: 'code', snapshot: true, sandboxId: 'origin' }];
    await world.rpc('tools/call', {
      workspaces,
      name: 'workspace__code__snapshot',
      arguments: { label: 'a-secret' },
    });
    const { tool, originId, snapshotId, sizeBytes } = line(world, 'tools/call');
    assert.deepEqual([tool, originId, sizeBytes > 0], ['snapshot', 'origin', true]);
    assert.match(snapshotId, /^snap-/);
  });
});

test('the log contains no names of checkpoints and no messages of the SDK', async () => {
  await using world = await World.start();
  await world.exec('origin', 'echo x > file');
  await world.rpc('checkpoints/create', {
    sandboxId: 'origin',
    name: 'a-secret-name',
    description: 'secret',
  });
  await world.rpc('checkpoints/diff', { sandboxId: 'origin', name: 'a-secret-name' });
  const backup = { id: 'a-secret-backup', dir: '/workspace' };
  await world.failure(world.rpc('import', { sandboxId: 'origin', backup }));
  const logged = world.log.filter((text) => text.startsWith('{"') && 'event' in JSON.parse(text));
  assert.ok(logged.length >= 3);
  for (const text of logged) assert.ok(!text.includes('secret'), text);
});

describe('Analytics Engine', () => {
  test('receives a data point for each operation', async () => {
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

  test('is healthy with the binding of the platform', async () => {
    const metrics = { METRICS: { type: 'analytics-engine-dataset', name: 'snapshotter' } } as const;
    await using world = await World.start({ snapshotter: { bindings: metrics } });
    const { ok, checks } = await world.rpc('health', {});
    const check = checks.find(({ name }: { name: string }) => name === 'metrics');
    assert.deepEqual([ok, check.ok], [true, true]);
  });
});
