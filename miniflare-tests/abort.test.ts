// An AbortSignal over RPC and over the `fetch` of the binding: it prevents operations, ends calls at once, and rolls back
// operations in progress.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import type { Call } from '../local-engine/index.ts';
import { isArchiving, isUnpacking, isUploading, until, World } from './world.ts';

/** The snapshotter's main module with sandboxes that log their sessions. */
const WITH_SESSIONS = fileURLToPath(new URL('./caller/sessions.mjs', import.meta.url));

let world: World;
let blocks: ((call: Call) => boolean) | undefined;
let reached: PromiseWithResolvers<void>;
let release: PromiseWithResolvers<void>;
const calls: Call[] = [];

beforeEach(async () => {
  blocks = undefined;
  reached = Promise.withResolvers();
  release = Promise.withResolvers();
  calls.length = 0;
  world = await World.start({
    snapshotter: { main: WITH_SESSIONS },
    onCall: async (call) => {
      calls.push(call);
      if (!blocks?.(call)) return;
      blocks = undefined;
      reached.resolve();
      await release.promise;
    },
  });
  await world.exec('origin', 'echo x > file');
});
afterEach(() => world[Symbol.asyncDispose]());

const lines = (what: string) => world.log.filter((line) => line.includes(what)).length;

describe('an aborted signal', () => {
  test('prevents a snapshot', async () => {
    await world.abort();
    calls.length = 0;
    assert.equal((await world.failure(world.rpc('snapshot', { sandboxId: 'origin' }, true))).code, 'ABORTED');
    assert.deepEqual([calls, await world.objects()], [[], []]);
  });

  test('prevents a restore', async () => {
    const ref = await world.snapshot('origin');
    const running = world.running();
    await world.abort();
    assert.equal((await world.failure(world.rpc('restore', { ref }, true))).code, 'ABORTED');
    assert.deepEqual(world.running(), running);
  });
});

test('an aborted signal prevents every other operation', async () => {
  const ref = await world.snapshot('origin', { label: 'first' });
  const objects = await world.objects();
  await world.abort();
  const operations: Record<string, object> = {
    list: { sandboxId: 'origin' },
    label: { ref, newLabel: 'other' },
    pin: { ref },
    delete: { ref },
    setRetention: { sandboxId: 'origin', policy: { keepDaily: 1 } },
    rotateKey: { sandboxId: 'origin' },
  };
  for (const [method, options] of Object.entries(operations)) {
    assert.equal((await world.failure(world.rpc(method, options, true))).code, 'ABORTED', method);
  }
  const { label, pinned } = await world.get(ref);
  assert.deepEqual([label, pinned, await world.objects()], ['first', false, objects]);
});

describe('an abort', () => {
  test('during a snapshot ends the call at once, and the backup is deleted after its creation', async () => {
    blocks = isArchiving;
    const call = world.failure(world.rpc('snapshot', { sandboxId: 'origin' }, true));
    await reached.promise;
    await world.abort();
    const error = await call; // The archive is still blocked.
    assert.deepEqual([error.code, error.kind], ['ABORTED', 'transient']);
    release.resolve();
    await until(() => calls.some(isUploading));
    await until(() => lines('"discarded":{"count":1') === 1);
    assert.deepEqual(await world.objects(), []);
  });

  test('during a restore ends the call at once, and the new sandbox is destroyed', async () => {
    const ref = await world.snapshot('origin');
    const running = world.running();
    blocks = isUnpacking;
    const call = world.failure(world.rpc('restore', { ref }, true));
    await reached.promise;
    assert.equal(world.running().length, running.length + 1);
    await world.abort();
    assert.equal((await call).code, 'ABORTED');
    release.resolve();
    await until(() => world.running().length === running.length);
    assert.deepEqual(world.running(), running);
  });

  test('during a restore disposes of the sessions of the new sandbox', async () => {
    const ref = await world.snapshot('origin');
    const beginCount = () => lines('a session begins');
    await until(() => beginCount() > 0 && beginCount() === lines('a session ends'));
    const before = beginCount();
    blocks = isUnpacking;
    const call = world.failure(world.rpc('restore', { ref }, true));
    await reached.promise;
    await world.abort();
    await call;
    release.resolve();
    await until(() => beginCount() > before && beginCount() === lines('a session ends'));
  });

  test('of an HTTP request rolls back a restore', async () => {
    const ref = await world.snapshot('origin');
    const running = world.running();
    blocks = isUnpacking;
    const call = world.failure(world.fetch('/v1/restore', { body: JSON.stringify({ ref }) }, true));
    await reached.promise;
    await world.abort();
    assert.match((await call).message, /abort/i);
    release.resolve();
    await until(() => world.running().length === running.length);
    assert.deepEqual(world.running(), running);
  });

  test('after the answer has no effect', async () => {
    const ref = await world.rpc('snapshot', { sandboxId: 'origin' }, true);
    await world.abort();
    const workspace = await world.restore(ref);
    assert.equal(await world.exec(workspace.ref.sandboxId, 'cat file'), 'x\n');
  });
});

test('an invalid signal is refused', async () => {
  const error = await world.failure(world.rpc('snapshot', { sandboxId: 'origin', signal: 'soon' }));
  assert.equal(error.code, 'INVALID_ARGUMENT');
});
