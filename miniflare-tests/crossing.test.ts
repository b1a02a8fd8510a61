// Calls that cross each other on one sandbox's snapshots: each is answered as if it had come before or after the other.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { isUnpacking, until, World } from './world.ts';
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

const isArchiving = ({ method }: Call) => method === 'backup.createArchive';
const code = async (call: Promise<unknown>) => (await world.failure(call)).code;

/** Holds calls that match until all of them may go on. */
function hold(matches: (call: Call) => boolean) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  onCall = async (call) => {
    if (!matches(call)) return;
    reached.resolve();
    await released.promise;
  };
  return { reached: reached.promise, release: released.resolve };
}

/** What comes of calls that are made at the same time: the answer, or the error's code. */
const together = (...calls: Promise<any>[]) =>
  Promise.all(calls.map((call) => call.catch(({ code }) => code as string)));

describe('while a sandbox is being made from a snapshot', () => {
  let ref: SnapshotRef;
  let restore: Promise<WorkspaceRef>;
  let release: () => void;

  beforeEach(async () => {
    ref = await world.snapshot(origin, { label: 'used' });
    const holding = hold(isUnpacking);
    restore = world.restore(ref);
    await holding.reached;
    release = holding.release;
  });

  /** The restore goes on to its end, and the sandbox has the files. */
  async function ends() {
    release();
    const { sandboxId } = (await restore).ref;
    assert.equal(await world.exec(sandboxId, 'cat file'), 'x\n');
    assert.deepEqual((await world.get(ref)).dependents, [sandboxId]);
  }

  test('it is not deleted, not even by force', async () => {
    assert.equal(await code(world.rpc('delete', { ref })), 'SNAPSHOT_BUSY');
    assert.equal(await code(world.rpc('delete', { ref, force: true })), 'SNAPSHOT_BUSY');
    await ends();
  });

  test('no policy lets it go', async () => {
    await world.snapshot(origin);
    const policy = { keepLast: { count: 1 } };
    assert.equal((await world.rpc('setRetention', { sandboxId: origin, policy })).evicted, 0);
    await ends();
  });

  test('it can be labelled, pinned and listed', async () => {
    await world.rpc('label', { ref, newLabel: 'other' });
    await world.rpc('pin', { ref });
    await ends();
    const { label, pinned } = await world.get(ref);
    assert.deepEqual([label, pinned], ['other', true]);
  });

  test('its key can be rotated', async () => {
    await world.rpc('rotateKey', { sandboxId: origin });
    await ends();
  });

  test('the caller may go, and it can be deleted when the sandbox is gone', async () => {
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

describe('while a snapshot is being taken', () => {
  test('its label can go to another one', async () => {
    const other = await world.snapshot(origin, { label: 'other' });
    const holding = hold(isArchiving);
    const call = world.snapshot(origin, { label: 'wanted' });
    await holding.reached;
    assert.equal(await code(world.rpc('label', { ref: other, newLabel: 'wanted' })), 'LABEL_TAKEN');
    await world.rpc('label', { ref: other, newLabel: 'wanted', replace: true });
    holding.release();
    const taken = await call;
    assert.match(taken.capture?.label ?? '', /^snap-/);
    assert.equal((await world.get(other)).label, 'wanted');
    await world.restores(taken, 'cat file', 'x\n');
  });

  test('the label that it will take can go to another one, and is taken from that', async () => {
    await world.snapshot(origin, { label: 'wanted' });
    const other = await world.snapshot(origin, { label: 'other' });
    const holding = hold(isArchiving);
    const call = world.snapshot(origin, { label: 'wanted', replace: true });
    await holding.reached;
    await world.rpc('label', { ref: other, newLabel: 'wanted', replace: true });
    holding.release();
    assert.equal((await call).capture?.label, 'wanted');
    assert.match((await world.get(other)).label, /^snap-/);
  });

  test('the one whose label it will take can be deleted', async () => {
    const old = await world.snapshot(origin, { label: 'wanted' });
    const holding = hold(isArchiving);
    const call = world.snapshot(origin, { label: 'wanted', replace: true });
    await holding.reached;
    await world.rpc('delete', { ref: old });
    holding.release();
    assert.equal((await call).capture?.label, 'wanted');
  });

  test('another policy counts for it', async () => {
    const old = await world.snapshot(origin, { label: 'old' });
    const holding = hold(isArchiving);
    const call = world.snapshot(origin, { label: 'new' });
    await holding.reached;
    await world.rpc('setRetention', { sandboxId: origin, policy: { keepLast: { count: 1 } } });
    assert.equal((await world.get(old)).restorable, 'yes', 'the newest that is there stays');
    holding.release();
    await call;
    await until(async () => (await world.labels(origin)).join() === 'new');
  });

  test('its key can be rotated, and it is signed by the new one', async () => {
    const holding = hold(isArchiving);
    const call = world.snapshot(origin);
    await holding.reached;
    await world.rpc('rotateKey', { sandboxId: origin });
    holding.release();
    const ref = await call;
    await world.rpc('rotateKey', { sandboxId: origin });
    await world.restores(ref, 'cat file', 'x\n');
  });

  test('it can be neither given a label, nor pinned, nor deleted', async () => {
    const holding = hold(isArchiving);
    const call = world.snapshot(origin, { label: 'wanted' });
    await holding.reached;
    const selection = { sandboxId: origin, label: 'wanted' };
    const calls = { label: { newLabel: 'x' }, pin: {}, unpin: {}, delete: { force: true }, restore: {} };
    for (const [method, options] of Object.entries(calls)) {
      assert.equal(await code(world.rpc(method, { ...selection, ...options })), 'SNAPSHOT_BUSY', method);
    }
    holding.release();
    assert.equal((await call).capture?.label, 'wanted');
  });
});

describe('at the same time', () => {
  test('a delete and a restore: one of them wins', async () => {
    for (let time = 0; time < 8; time += 1) {
      const ref = await world.snapshot(origin);
      const calls = [() => world.restore(ref), () => world.rpc('delete', { ref })];
      const [restored, deleted] = time % 2 ? calls : calls.reverse();
      const outcomes = await together(restored!(), deleted!());
      const made = outcomes.find((outcome) => outcome.capabilities !== undefined);
      const code: string = outcomes.find((outcome) => typeof outcome === 'string') ?? 'none';
      if (made) {
        assert.ok(['SNAPSHOT_BUSY', 'SNAPSHOT_HAS_DEPENDENTS'].includes(code), code);
        assert.equal(await world.exec(made.ref.sandboxId, 'cat file'), 'x\n');
        await world.sandbox(made.ref.sandboxId, 'destroy');
      } else {
        assert.ok(['SNAPSHOT_NOT_FOUND', 'BACKUP_NOT_FOUND', 'BACKUP_INCOMPLETE'].includes(code), code);
      }
      assert.deepEqual(world.running(), running);
    }
  });

  test('an abort and a delete: it is gone, or as it was, and can be deleted again', async () => {
    for (let time = 0; time < 8; time += 1) {
      const ref = await world.snapshot(origin);
      const caller = `caller-${time}`;
      const call = world.perform({ do: 'rpc', method: 'delete', options: { ref }, signal: true }, caller);
      for (let turn = 0; turn < time * 40; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      await world.perform({ do: 'abort' }, caller);
      const { error } = await call;
      assert.ok(error === undefined || error.code === 'ABORTED', error?.message);
      await world.rpc('delete', { ref });
      assert.deepEqual((await world.list(origin)).snapshots, []);
      await until(async () => !(await world.objects()).some((key) => key.includes(ref.ref.backup.id)));
    }
  });

  test('two labels for each other’s snapshots: each has one of its own', async () => {
    const [one, two] = [
      await world.snapshot(origin, { label: 'one' }),
      await world.snapshot(origin, { label: 'two' }),
    ];
    await together(
      world.rpc('label', { ref: one, newLabel: 'two', replace: true }),
      world.rpc('label', { ref: two, newLabel: 'one', replace: true }),
    );
    const labels = await world.labels(origin);
    assert.equal(new Set(labels).size, 2, labels.join());
  });

  test('twenty snapshots with one label: one is taken, and the others say why not', async () => {
    const options = Array.from({ length: 20 }, (_, index) => ({ label: 'same', excludes: [`${index}`] }));
    const outcomes = await together(...options.map((each) => world.snapshot(origin, each)));
    const refused = outcomes.filter((outcome) => typeof outcome === 'string');
    assert.deepEqual(refused, Array(19).fill('LABEL_TAKEN'));
    assert.deepEqual(await world.labels(origin), ['same']);
  });

  test('restores, branches and snapshots of the same snapshot, from many callers', async () => {
    const ref = await world.snapshot(origin);
    const calls = Array.from({ length: 6 }, (_, index) => {
      const method = index % 2 ? 'restore' : 'branch';
      return world.perform({ do: 'rpc', method, options: { ref } }, `caller-${index}`);
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

describe('long after', () => {
  test('a deleted snapshot is forgotten, and deleting it is still fine', async () => {
    const ref = await world.snapshot(origin);
    await world.snapshot(origin);
    await world.rpc('delete', { ref });
    await world.elapse(origin, 32 * 24 * 3600);
    await world.rpc('trueTime');
    const selection = { sandboxId: origin, snapshotId: ref.ref.snapshotId };
    assert.equal(await code(world.rpc('manifest', selection)), 'SNAPSHOT_NOT_FOUND');
    assert.deepEqual(await world.rpc('delete', { ref }), { snapshotId: ref.ref.snapshotId, removed: false });
  });

  test('an idempotency key is kept for a day, and forgotten some days later', async () => {
    const key = { idempotencyKey: 'key' };
    const first = await world.snapshot(origin, key);
    await world.elapse(origin, 25 * 3600);
    assert.deepEqual(await world.snapshot(origin, key), first);
    await world.elapse(origin, 4 * 24 * 3600);
    await world.rpc('trueTime');
    assert.notDeepEqual(await world.snapshot(origin, key), first);
  });
});

test('word that a snapshot is not needed any more survives a crash', async () => {
  const ref = await world.snapshot(origin);
  const { sandboxId } = (await world.restore(ref)).ref;
  await world.snapshot(sandboxId);
  await world.crash();
  await world.elapse(sandboxId, 3600);
  await world.rpc('trueTime');
  assert.deepEqual((await world.get(ref)).dependents, []);
});
