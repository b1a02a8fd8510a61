// Concurrent calls on the snapshots of one sandbox: each is answered as if it came before or after the other.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { isArchiving, isUnpacking, until, World } from './world.ts';
import type { SnapshotRef, WorkspaceRef } from '../client/src/index.ts';

interface Call {
  method: string;
  command?: string;
}

let world: World;
let onCall: ((call: Call) => Promise<void>) | undefined;
let origins = 0;
let origin: string;
let running: string[];

before(async () => {
  world = await World.start({ clock: true, onCall: (call) => onCall?.(call) });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  onCall = undefined;
  origin = `origin-${++origins}`;
  await world.exec(origin, 'echo x > file');
  running = world.running();
});

const code = async (call: Promise<unknown>) => (await world.failure(call)).code;

/** Blocks calls that match, until `release`. */
function block(matches: (call: Call) => boolean) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  onCall = async (call) => {
    if (!matches(call)) return;
    reached.resolve();
    await released.promise;
  };
  return { reached: reached.promise, release: released.resolve };
}

/** Makes calls at the same time, and returns the answer or the error code of each. */
const callConcurrently = (...calls: Promise<any>[]) =>
  Promise.all(calls.map((call) => call.catch(({ code }) => code as string)));

describe('during a restore, its snapshot', () => {
  let ref: SnapshotRef;
  let restore: Promise<WorkspaceRef>;
  let release: () => void;

  beforeEach(async () => {
    ref = await world.snapshot(origin, { label: 'used' });
    const blocked = block(isUnpacking);
    restore = world.restore(ref);
    await blocked.reached;
    release = blocked.release;
  });

  /** Releases the restore, and asserts that it succeeds. */
  async function assertRestoreSucceeds() {
    release();
    const { sandboxId } = (await restore).ref;
    assert.equal(await world.exec(sandboxId, 'cat file'), 'x\n');
    assert.deepEqual((await world.get(ref)).dependents, [sandboxId]);
  }

  test('cannot be deleted, even by force', async () => {
    assert.equal(await code(world.rpc('delete', { ref })), 'SNAPSHOT_BUSY');
    assert.equal(await code(world.rpc('delete', { ref, force: true })), 'SNAPSHOT_BUSY');
    await assertRestoreSucceeds();
  });

  test('is kept by every policy', async () => {
    await world.snapshot(origin);
    const policy = { keepLast: { count: 1 } };
    assert.equal((await world.rpc('setRetention', { sandboxId: origin, policy })).evicted, 0);
    await assertRestoreSucceeds();
  });

  test('can be labeled, pinned and listed', async () => {
    await world.rpc('label', { ref, newLabel: 'other' });
    await world.rpc('pin', { ref });
    await assertRestoreSucceeds();
    const { label, pinned } = await world.get(ref);
    assert.deepEqual([label, pinned], ['other', true]);
  });

  test('stays restorable after a key rotation', async () => {
    await world.rpc('rotateKey', { sandboxId: origin });
    await assertRestoreSucceeds();
  });

  test('can be deleted after the restore was aborted and its sandbox is gone', async () => {
    const abandoned = world.failure(world.rpc('restore', { ref }, true));
    await until(() => world.running().length === running.length + 2);
    await world.abort();
    assert.equal((await abandoned).code, 'ABORTED');
    release();
    const own = (await restore).ref.sandboxId;
    await until(async () => (await world.get(ref)).dependents.join() === own);
    await until(() => world.running().length === running.length + 1);
    await world.snapshot(own);
    await until(async () => (await world.get(ref)).dependents.length === 0);
    assert.equal((await world.rpc('delete', { ref })).removed, true);
  });
});

describe('during a capture,', () => {
  test('its label can be assigned to another snapshot', async () => {
    const other = await world.snapshot(origin, { label: 'other' });
    const blocked = block(isArchiving);
    const call = world.snapshot(origin, { label: 'wanted' });
    await blocked.reached;
    assert.equal(await code(world.rpc('label', { ref: other, newLabel: 'wanted' })), 'LABEL_TAKEN');
    await world.rpc('label', { ref: other, newLabel: 'wanted', replace: true });
    blocked.release();
    const taken = await call;
    assert.match(taken.capture?.label ?? '', /^snap-/);
    assert.equal((await world.get(other)).label, 'wanted');
    await world.assertRestores(taken, 'cat file', 'x\n');
  });

  test('the label that it will replace can be assigned to another snapshot', async () => {
    await world.snapshot(origin, { label: 'wanted' });
    const other = await world.snapshot(origin, { label: 'other' });
    const blocked = block(isArchiving);
    const call = world.snapshot(origin, { label: 'wanted', replace: true });
    await blocked.reached;
    await world.rpc('label', { ref: other, newLabel: 'wanted', replace: true });
    blocked.release();
    assert.equal((await call).capture?.label, 'wanted');
    assert.match((await world.get(other)).label, /^snap-/);
  });

  test('the snapshot whose label it will replace can be deleted', async () => {
    const old = await world.snapshot(origin, { label: 'wanted' });
    const blocked = block(isArchiving);
    const call = world.snapshot(origin, { label: 'wanted', replace: true });
    await blocked.reached;
    await world.rpc('delete', { ref: old });
    blocked.release();
    assert.equal((await call).capture?.label, 'wanted');
  });

  test('a new policy applies to it', async () => {
    const old = await world.snapshot(origin, { label: 'old' });
    const blocked = block(isArchiving);
    const call = world.snapshot(origin, { label: 'new' });
    await blocked.reached;
    await world.rpc('setRetention', { sandboxId: origin, policy: { keepLast: { count: 1 } } });
    assert.equal((await world.get(old)).restorable, 'yes', 'the newest existing snapshot stays');
    blocked.release();
    await call;
    await until(async () => (await world.labels(origin)).join() === 'new');
  });

  test('a key rotation makes the new key sign it', async () => {
    const blocked = block(isArchiving);
    const call = world.snapshot(origin);
    await blocked.reached;
    await world.rpc('rotateKey', { sandboxId: origin });
    blocked.release();
    const ref = await call;
    await world.rpc('rotateKey', { sandboxId: origin });
    await world.assertRestores(ref, 'cat file', 'x\n');
  });

  test('it can be neither labeled, pinned, deleted nor restored', async () => {
    const blocked = block(isArchiving);
    const call = world.snapshot(origin, { label: 'wanted' });
    await blocked.reached;
    const selection = { sandboxId: origin, label: 'wanted' };
    const calls = { label: { newLabel: 'x' }, pin: {}, unpin: {}, delete: { force: true }, restore: {} };
    for (const [method, options] of Object.entries(calls)) {
      assert.equal(await code(world.rpc(method, { ...selection, ...options })), 'SNAPSHOT_BUSY', method);
    }
    blocked.release();
    assert.equal((await call).capture?.label, 'wanted');
  });
});

describe('at the same time,', () => {
  test('one of a delete and a restore succeeds', async () => {
    for (let time = 0; time < 8; time += 1) {
      const ref = await world.snapshot(origin);
      const calls = [() => world.restore(ref), () => world.rpc('delete', { ref })];
      const [restored, deleted] = time % 2 ? calls : calls.reverse();
      const outcomes = await callConcurrently(restored!(), deleted!());
      const restoredWorkspace = outcomes.find((outcome) => outcome.capabilities !== undefined);
      const code: string = outcomes.find((outcome) => typeof outcome === 'string') ?? 'none';
      if (restoredWorkspace) {
        assert.ok(['SNAPSHOT_BUSY', 'SNAPSHOT_HAS_DEPENDENTS'].includes(code), code);
        assert.equal(await world.exec(restoredWorkspace.ref.sandboxId, 'cat file'), 'x\n');
        await world.sandbox(restoredWorkspace.ref.sandboxId, 'destroy');
      } else {
        assert.ok(['SNAPSHOT_NOT_FOUND', 'BACKUP_NOT_FOUND', 'BACKUP_INCOMPLETE'].includes(code), code);
      }
      assert.deepEqual(world.running(), running);
    }
  });

  test('an aborted delete is complete or without effect, and can be repeated', async () => {
    for (let time = 0; time < 8; time += 1) {
      const ref = await world.snapshot(origin);
      const caller = `caller-${time}`;
      const call = world.runStep({ do: 'rpc', method: 'delete', options: { ref }, signal: true }, caller);
      for (let turn = 0; turn < time * 40; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      await world.runStep({ do: 'abort' }, caller);
      const { error } = await call;
      assert.ok(error === undefined || error.code === 'ABORTED', error?.message);
      await world.rpc('delete', { ref });
      assert.deepEqual((await world.list(origin)).snapshots, []);
      await until(async () => !(await world.objects()).some((key) => key.includes(ref.ref.backup.id)));
    }
  });

  test('an exchange of two labels leaves each snapshot with one label', async () => {
    const [one, two] = [
      await world.snapshot(origin, { label: 'one' }),
      await world.snapshot(origin, { label: 'two' }),
    ];
    await callConcurrently(
      world.rpc('label', { ref: one, newLabel: 'two', replace: true }),
      world.rpc('label', { ref: two, newLabel: 'one', replace: true }),
    );
    const labels = await world.labels(origin);
    assert.equal(new Set(labels).size, 2, labels.join());
  });

  test('one of twenty snapshots with the same label is taken, and the others fail with LABEL_TAKEN', async () => {
    const options = Array.from({ length: 20 }, (_, index) => ({ label: 'same', excludes: [`${index}`] }));
    const outcomes = await callConcurrently(...options.map((each) => world.snapshot(origin, each)));
    const refused = outcomes.filter((outcome) => typeof outcome === 'string');
    assert.deepEqual(refused, Array(19).fill('LABEL_TAKEN'));
    assert.deepEqual(await world.labels(origin), ['same']);
  });

  test('restores and branches of one snapshot from many callers all succeed', async () => {
    const ref = await world.snapshot(origin);
    const calls = Array.from({ length: 6 }, (_, index) => {
      const method = index % 2 ? 'restore' : 'branch';
      return world.runStep({ do: 'rpc', method, options: { ref } }, `caller-${index}`);
    });
    const answers = await Promise.all(calls);
    const ids = answers.map(({ value }) => (value as WorkspaceRef).ref.sandboxId);
    assert.equal(new Set(ids).size, 6);
    assert.deepEqual((await world.get(ref)).dependents, ids.sort());
    await Promise.all(ids.map((id) => world.snapshot(id)));
    await until(async () => (await world.get(ref)).dependents.length === 0);
    await Promise.all(ids.map((id) => world.sandbox(id, 'destroy')));
  });
});

describe('later,', () => {
  test('a deleted snapshot is not listed in the ledger, and can be deleted again without effect', async () => {
    const ref = await world.snapshot(origin);
    await world.snapshot(origin);
    await world.rpc('delete', { ref });
    await world.advanceClock(origin, 32 * 24 * 3600);
    await world.rpc('resetClock');
    const selection = { sandboxId: origin, snapshotId: ref.ref.snapshotId };
    assert.equal(await code(world.rpc('manifest', selection)), 'SNAPSHOT_NOT_FOUND');
    assert.deepEqual(await world.rpc('delete', { ref }), { snapshotId: ref.ref.snapshotId, removed: false });
  });

  test('an idempotency key is valid for a day, and free some days later', async () => {
    const key = { idempotencyKey: 'key' };
    const first = await world.snapshot(origin, key);
    await world.advanceClock(origin, 25 * 3600);
    assert.deepEqual(await world.snapshot(origin, key), first);
    await world.advanceClock(origin, 4 * 24 * 3600);
    await world.rpc('resetClock');
    assert.notDeepEqual(await world.snapshot(origin, key), first);
  });
});

test('the release of a snapshot survives a crash', async () => {
  const ref = await world.snapshot(origin);
  const { sandboxId } = (await world.restore(ref)).ref;
  await world.snapshot(sandboxId);
  await world.crash();
  await world.advanceClock(sandboxId, 3600);
  await world.rpc('resetClock');
  assert.deepEqual((await world.get(ref)).dependents, []);
});
