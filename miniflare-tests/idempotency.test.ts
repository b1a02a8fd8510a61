// Idempotency keys: a repeated call with the same key returns the first answer, and has no second effect.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';

import { isArchiving, isUnpacking, until, World } from './world.ts';
import type { SnapshotRef } from '../client/src/index.ts';

interface Call {
  method: string;
  command?: string;
}

let world: World;
let onCall: ((call: Call) => Promise<void>) | undefined;
let origins = 0;
let origin: string;

before(async () => {
  world = await World.start({ onCall: (call) => onCall?.(call) });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  onCall = undefined;
  origin = `origin-${++origins}`;
  await world.exec(origin, 'echo x > file');
});

/** Counts the calls that match, and blocks each until `release`. */
function block(matches: (call: Call) => boolean) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const blocked = { count: 0, reached: reached.promise, release: released.resolve };
  onCall = async (call) => {
    if (!matches(call)) return;
    blocked.count += 1;
    reached.resolve();
    await released.promise;
  };
  return blocked;
}

for (const transport of ['rpc', 'http'] as const) {
  describe(`over ${transport}`, () => {
    test('a repeated snapshot is taken once', async () => {
      const options = { sandboxId: origin, idempotencyKey: 'one', fresh: true };
      const first = await world[transport]('snapshot', options);
      await world.exec(origin, 'echo y > file');
      assert.deepEqual(await world[transport]('snapshot', options), first);
      assert.equal((await world.labels(origin)).length, 1);
    });

    for (const method of ['restore', 'branch'] as const) {
      test(`a repeated ${method} creates one sandbox`, async () => {
        const ref = await world.snapshot(origin);
        const running = world.running().length;
        const first = await world[transport](method, { ref, idempotencyKey: 'one' });
        assert.deepEqual(await world[transport](method, { ref, idempotencyKey: 'one' }), first);
        assert.equal(world.running().length, running + 1);
        const other = await world[transport](method, { ref, idempotencyKey: 'two' });
        assert.notEqual(other.ref.sandboxId, first.ref.sandboxId);
      });
    }
  });
}

describe('concurrently,', () => {
  for (const method of ['restore', 'branch'] as const) {
    test(`ten calls of ${method} with one key create one sandbox`, async () => {
      const ref = await world.snapshot(origin);
      const running = world.running().length;
      const blocked = block(isUnpacking);
      const calls = Array.from({ length: 10 }, (_, index) =>
        world[index % 2 ? 'rpc' : 'http'](method, { ref, idempotencyKey: 'one' }),
      );
      await blocked.reached;
      blocked.release();
      const answers = await Promise.all(calls);
      assert.equal(new Set(answers.map(({ ref }) => ref.sandboxId)).size, 1);
      assert.deepEqual([blocked.count, world.running().length], [1, running + 1]);
    });
  }

  test('calls of snapshot with one key share one capture, even with fresh', async () => {
    const blocked = block(isArchiving);
    const options = { fresh: true, idempotencyKey: 'one' };
    const first = world.snapshot(origin, options);
    await blocked.reached;
    const others = Array.from({ length: 5 }, () => world.snapshot(origin, options));
    blocked.release();
    const answers = await Promise.all([first, ...others]);
    assert.equal(new Set(answers.map(({ ref }) => ref.snapshotId)).size, 1);
    assert.equal(blocked.count, 1);
  });

  test('a call with another key does not wait for a slow call', async () => {
    const ref = await world.snapshot(origin);
    let blocked = false;
    const [reached, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    onCall = async (call) => {
      if (!isUnpacking(call) || blocked) return;
      blocked = true;
      reached.resolve();
      await release.promise;
    };
    const slow = world.rpc('restore', { ref, idempotencyKey: 'slow' });
    await reached.promise;
    const quick = await world.rpc('restore', { ref, idempotencyKey: 'quick' });
    release.resolve();
    assert.notEqual((await slow).ref.sandboxId, quick.ref.sandboxId);
  });
});

describe('another call with the same key', () => {
  const assertConflict = async (call: Promise<unknown>) => {
    const error = await world.failure(call);
    assert.deepEqual([error.code, error.kind, error.retryable], ['IDEMPOTENCY_CONFLICT', 'conflict', false]);
  };

  test('is refused for other options, another snapshot and another operation', async () => {
    const key = { idempotencyKey: 'one' };
    const ref = await world.snapshot(origin, key);
    const running = world.running();
    await assertConflict(world.snapshot(origin, { ...key, label: 'other' }));
    await assertConflict(world.snapshot(origin, { ...key, dir: '/home' }));
    await assertConflict(world.rpc('restore', { ref, ...key }));
    const other = await world.snapshot(origin);
    await world.rpc('restore', { ref, idempotencyKey: 'two' });
    await assertConflict(world.rpc('restore', { ref: other, idempotencyKey: 'two' }));
    await assertConflict(world.rpc('branch', { ref, idempotencyKey: 'two' }));
    assert.equal(world.running().length, running.length + 1);
    assert.equal((await world.labels(origin)).length, 2);
  });

  test('is refused while the first call is in progress', async () => {
    const ref = await world.snapshot(origin);
    const blocked = block(isUnpacking);
    const first = world.rpc('restore', { ref, idempotencyKey: 'one' });
    await blocked.reached;
    await assertConflict(world.rpc('branch', { ref, idempotencyKey: 'one' }));
    blocked.release();
    await first;
  });

  test('on another sandbox is independent', async () => {
    await world.exec('another', 'echo x > file');
    const ref = await world.snapshot(origin, { idempotencyKey: 'one' });
    const other = await world.snapshot('another', { idempotencyKey: 'one' });
    assert.notEqual(ref.ref.snapshotId, other.ref.snapshotId);
  });
});

describe('a call that failed', () => {
  test('can be repeated with its key and the same arguments', async () => {
    const key = { idempotencyKey: 'one' };
    const missing = world.snapshot(origin, { ...key, dir: '/workspace/none' });
    assert.equal((await world.failure(missing)).code, 'INVALID_DIRECTORY');
    await world.exec(origin, 'mkdir none');
    await world.snapshot(origin, { ...key, dir: '/workspace/none' });
  });

  test('is repeated by a call that waited for it', async () => {
    const ref = await world.snapshot(origin);
    const running = world.running().length;
    let failures = 0;
    const reached = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    onCall = async (call) => {
      if (!isUnpacking(call) || failures++ > 0) return;
      reached.resolve();
      await release.promise;
      throw new Error('the disk is full');
    };
    const calls = [1, 2, 3].map(() => world.rpc('restore', { ref, idempotencyKey: 'one' }));
    await reached.promise;
    release.resolve();
    const outcomes = await Promise.allSettled(calls);
    const succeeded = outcomes.filter(
      ({ status }) => status === 'fulfilled',
    ) as PromiseFulfilledResult<any>[];
    assert.equal(new Set(succeeded.map(({ value }) => value.ref.sandboxId)).size, 1);
    assert.equal(world.running().length, running + 1);
  });

  test('with ABORTED leaves its key to the next call', async () => {
    const ref = await world.snapshot(origin);
    const running = world.running().length;
    const blocked = block(isUnpacking);
    const call = world.failure(world.rpc('restore', { ref, idempotencyKey: 'one' }, true));
    await blocked.reached;
    await world.abort();
    assert.equal((await call).code, 'ABORTED');
    onCall = undefined;
    const again = world.rpc('restore', { ref, idempotencyKey: 'one' });
    blocked.release();
    const { sandboxId } = (await again).ref;
    assert.equal(await world.exec(sandboxId, 'cat file'), 'x\n');
    await until(() => world.running().length === running + 1);
  });
});

test('answers survive a restart of the deployment', async () => {
  const persist = await mkdtemp(join(tmpdir(), 'world-'));
  const keyed = { sandboxId: 'agent', idempotencyKey: 'taken' };
  let ref: SnapshotRef;
  let workspaces: unknown[];
  try {
    {
      await using first = await World.start({ persist });
      await first.exec('agent', 'echo x > file');
      ref = await first.rpc('snapshot', keyed);
      workspaces = [
        await first.rpc('restore', { ref, idempotencyKey: 'restored' }),
        await first.rpc('branch', { ref, idempotencyKey: 'branched' }),
      ];
    }
    await using second = await World.start({ persist });
    assert.deepEqual(await second.rpc('snapshot', keyed), ref);
    assert.deepEqual(
      [
        await second.rpc('restore', { ref, idempotencyKey: 'restored' }),
        await second.rpc('branch', { ref, idempotencyKey: 'branched' }),
      ],
      workspaces,
    );
    assert.deepEqual(second.running(), [], 'no sandbox is started');
  } finally {
    await rm(persist, { recursive: true });
  }
});
