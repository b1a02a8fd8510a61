// An AbortSignal, across RPC and across the binding's fetch: nothing starts after it, nobody waits after it, and what
// was under way is taken back.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import type { Call } from '../local-engine/index.ts';
import { isUnpacking, isUploading, until, World } from './world.ts';

/** The snapshotter's main module with sandboxes that log their sessions. */
const WITH_SESSIONS = fileURLToPath(new URL('./caller/sessions.mjs', import.meta.url));

let world: World;
let holdAt: ((call: Call) => boolean) | undefined;
let held: PromiseWithResolvers<void>;
let release: PromiseWithResolvers<void>;
const seen: Call[] = [];

beforeEach(async () => {
  holdAt = undefined;
  held = Promise.withResolvers();
  release = Promise.withResolvers();
  seen.length = 0;
  world = await World.start({
    snapshotter: { main: WITH_SESSIONS },
    onCall: async (call) => {
      seen.push(call);
      if (!holdAt?.(call)) return;
      holdAt = undefined;
      held.resolve();
      await release.promise;
    },
  });
  await world.exec('origin', 'echo x > file');
});
afterEach(() => world[Symbol.asyncDispose]());

const lines = (what: string) => world.log.filter((line) => line.includes(what)).length;
const isArchiving = ({ method }: Call) => method === 'backup.createArchive';
const isDeletingSession = ({ method }: Call) => method === 'utils.deleteSession';

describe('a signal that has fired already', () => {
  test('lets no snapshot start', async () => {
    await world.abort();
    seen.length = 0;
    assert.equal((await world.failure(world.rpc('snapshot', { sandboxId: 'origin' }, true))).code, 'ABORTED');
    assert.deepEqual([seen, await world.objects()], [[], []]);
  });

  test('lets no restore start', async () => {
    const ref = await world.snapshot('origin');
    const running = world.running();
    await world.abort();
    assert.equal((await world.failure(world.rpc('restore', { ref }, true))).code, 'ABORTED');
    assert.deepEqual(world.running(), running);
  });
});

test('a signal that has fired already lets nothing else start either', async () => {
  const ref = await world.snapshot('origin', { label: 'there' });
  const objects = await world.objects();
  await world.abort();
  const calls: Record<string, object> = {
    list: { sandboxId: 'origin' },
    label: { ref, newLabel: 'other' },
    pin: { ref },
    delete: { ref },
    setRetention: { sandboxId: 'origin', policy: { keepDaily: 1 } },
    rotateKey: { sandboxId: 'origin' },
  };
  for (const [method, options] of Object.entries(calls)) {
    assert.equal((await world.failure(world.rpc(method, options, true))).code, 'ABORTED', method);
  }
  const { label, pinned } = await world.get(ref);
  assert.deepEqual([label, pinned, await world.objects()], ['there', false, objects]);
});

describe('a signal that fires', () => {
  test('during a snapshot ends the wait at once, and the backup is deleted when it is done', async () => {
    holdAt = isArchiving;
    const call = world.failure(world.rpc('snapshot', { sandboxId: 'origin' }, true));
    await held.promise;
    await world.abort();
    const error = await call; // while the archive is still being held
    assert.deepEqual([error.code, error.kind], ['ABORTED', 'transient']);
    release.resolve();
    await until(() => seen.some(isUploading));
    await until(async () => seen.some(isDeletingSession) && (await world.objects()).length === 0);
  });

  test('during a restore ends the wait at once, and the new sandbox is destroyed', async () => {
    const ref = await world.snapshot('origin');
    const running = world.running();
    holdAt = isUnpacking;
    const call = world.failure(world.rpc('restore', { ref }, true));
    await held.promise;
    assert.equal(world.running().length, running.length + 1);
    await world.abort();
    assert.equal((await call).code, 'ABORTED');
    release.resolve();
    await until(() => world.running().length === running.length);
    assert.deepEqual(world.running(), running);
  });

  test('during a restore leaves no session behind, which would keep who asked in memory', async () => {
    const ref = await world.snapshot('origin');
    const begun = () => lines('a session begins');
    await until(() => begun() > 0 && begun() === lines('a session ends'));
    const before = begun();
    holdAt = isUnpacking;
    const call = world.failure(world.rpc('restore', { ref }, true));
    await held.promise;
    await world.abort();
    await call;
    release.resolve();
    await until(() => begun() > before && begun() === lines('a session ends'));
  });

  test('by hanging up over HTTP takes back a restore too', async () => {
    const ref = await world.snapshot('origin');
    const running = world.running();
    holdAt = isUnpacking;
    const call = world.failure(world.fetch('/v1/restore', { body: JSON.stringify({ ref }) }, true));
    await held.promise;
    await world.abort();
    assert.match((await call).message, /abort/i);
    release.resolve();
    await until(() => world.running().length === running.length);
    assert.deepEqual(world.running(), running);
  });

  test('after the answer changes nothing', async () => {
    const ref = await world.rpc('snapshot', { sandboxId: 'origin' }, true);
    await world.abort();
    const workspace = await world.restore(ref);
    assert.equal(await world.exec(workspace.ref.sandboxId, 'cat file'), 'x\n');
  });
});

test('a signal that is none is refused', async () => {
  const error = await world.failure(world.rpc('snapshot', { sandboxId: 'origin', signal: 'soon' }));
  assert.equal(error.code, 'INVALID_ARGUMENT');
});
