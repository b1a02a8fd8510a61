// The same call with the same idempotency key gets the same answer, whatever happened to the first one.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';

import { isUnpacking, until, World } from './world.ts';
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

const isArchiving = ({ method }: Call) => method === 'backup.createArchive';

/** Counts the calls that match, and holds each until all may go on. */
function hold(matches: (call: Call) => boolean) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = { count: 0, reached: reached.promise, release: released.resolve };
  onCall = async (call) => {
    if (!matches(call)) return;
    holding.count += 1;
    reached.resolve();
    await released.promise;
  };
  return holding;
}

for (const transport of ['rpc', 'http'] as const) {
  describe(`over ${transport}`, () => {
    test('a snapshot is taken once', async () => {
      const options = { sandboxId: origin, idempotencyKey: 'one', fresh: true };
      const first = await world[transport]('snapshot', options);
      await world.exec(origin, 'echo y > file');
      assert.deepEqual(await world[transport]('snapshot', options), first);
      assert.equal((await world.labels(origin)).length, 1);
    });

    for (const method of ['restore', 'branch'] as const) {
      test(`a ${method} makes one sandbox`, async () => {
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

describe('at the same time', () => {
  for (const method of ['restore', 'branch'] as const) {
    test(`ten calls of ${method} make one sandbox`, async () => {
      const ref = await world.snapshot(origin);
      const running = world.running().length;
      const holding = hold(isUnpacking);
      const calls = Array.from({ length: 10 }, (_, index) =>
        world[index % 2 ? 'rpc' : 'http'](method, { ref, idempotencyKey: 'one' }),
      );
      await holding.reached;
      holding.release();
      const answers = await Promise.all(calls);
      assert.equal(new Set(answers.map(({ ref }) => ref.sandboxId)).size, 1);
      assert.deepEqual([holding.count, world.running().length], [1, running + 1]);
    });
  }

  test('calls of snapshot share one capture, even those that want a fresh one', async () => {
    const holding = hold(isArchiving);
    const options = { fresh: true, idempotencyKey: 'one' };
    const first = world.snapshot(origin, options);
    await holding.reached;
    const others = Array.from({ length: 5 }, () => world.snapshot(origin, options));
    holding.release();
    const answers = await Promise.all([first, ...others]);
    assert.equal(new Set(answers.map(({ ref }) => ref.snapshotId)).size, 1);
    assert.equal(holding.count, 1);
  });

  test('another call waits neither for a key that is not its own, nor for its answer', async () => {
    const ref = await world.snapshot(origin);
    let held = false;
    const [reached, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    onCall = async (call) => {
      if (!isUnpacking(call) || held) return;
      held = true;
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
  const refused = async (call: Promise<unknown>) => {
    const error = await world.failure(call);
    assert.deepEqual([error.code, error.kind, error.retryable], ['IDEMPOTENCY_CONFLICT', 'conflict', false]);
  };

  test('is refused: other options, another snapshot, another operation', async () => {
    const key = { idempotencyKey: 'one' };
    const ref = await world.snapshot(origin, key);
    const running = world.running();
    await refused(world.snapshot(origin, { ...key, label: 'other' }));
    await refused(world.snapshot(origin, { ...key, dir: '/home' }));
    await refused(world.rpc('restore', { ref, ...key }));
    const other = await world.snapshot(origin);
    await world.rpc('restore', { ref, idempotencyKey: 'two' });
    await refused(world.rpc('restore', { ref: other, idempotencyKey: 'two' }));
    await refused(world.rpc('branch', { ref, idempotencyKey: 'two' }));
    assert.equal(world.running().length, running.length + 1);
    assert.equal((await world.labels(origin)).length, 2);
  });

  test('is refused also while the first is under way', async () => {
    const ref = await world.snapshot(origin);
    const holding = hold(isUnpacking);
    const first = world.rpc('restore', { ref, idempotencyKey: 'one' });
    await holding.reached;
    await refused(world.rpc('branch', { ref, idempotencyKey: 'one' }));
    holding.release();
    await first;
  });

  test('on another sandbox is another key', async () => {
    await world.exec('another', 'echo x > file');
    const ref = await world.snapshot(origin, { idempotencyKey: 'one' });
    const other = await world.snapshot('another', { idempotencyKey: 'one' });
    assert.notEqual(ref.ref.snapshotId, other.ref.snapshotId);
  });
});

describe('a call that failed', () => {
  test('can be made again with its key, and with another payload', async () => {
    const key = { idempotencyKey: 'one' };
    const missing = world.snapshot(origin, { ...key, dir: '/workspace/none' });
    assert.equal((await world.failure(missing)).code, 'INVALID_DIRECTORY');
    await world.exec(origin, 'mkdir none');
    await world.snapshot(origin, { ...key, dir: '/workspace/none' });
  });

  test('is made again by those who waited for it', async () => {
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
    const made = outcomes.filter(({ status }) => status === 'fulfilled') as PromiseFulfilledResult<any>[];
    assert.equal(new Set(made.map(({ value }) => value.ref.sandboxId)).size, 1);
    assert.equal(world.running().length, running + 1);
  });

  test('by its signal leaves the key to the next', async () => {
    const ref = await world.snapshot(origin);
    const running = world.running().length;
    const holding = hold(isUnpacking);
    const call = world.failure(world.rpc('restore', { ref, idempotencyKey: 'one' }, true));
    await holding.reached;
    await world.abort();
    assert.equal((await call).code, 'ABORTED');
    onCall = undefined;
    const again = world.rpc('restore', { ref, idempotencyKey: 'one' });
    holding.release();
    const { sandboxId } = (await again).ref;
    assert.equal(await world.exec(sandboxId, 'cat file'), 'x\n');
    await until(() => world.running().length === running + 1);
  });
});

test('after a restart of everything the answers are the same', async () => {
  const persist = await mkdtemp(join(tmpdir(), 'world-'));
  const keyed = { sandboxId: 'agent', idempotencyKey: 'taken' };
  let ref: SnapshotRef;
  let made: unknown[];
  try {
    {
      await using first = await World.start({ persist });
      await first.exec('agent', 'echo x > file');
      ref = await first.rpc('snapshot', keyed);
      made = [
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
      made,
    );
    assert.deepEqual(second.running(), [], 'nothing was done for it');
  } finally {
    await rm(persist, { recursive: true });
  }
});
