// Backups that the ledger does not know come in by import, and only by that.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from './world.ts';
import type { SnapshotRef } from '../client/src/index.ts';

let world: World;
let origins = 0;
let origin: string;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  origin = `origin-${++origins}`;
  await world.exec(origin, 'echo x > file');
});

interface Handle {
  id: string;
  dir: string;
}

/** A backup that the application makes itself. */
const backUp = (options: object = {}): Promise<Handle> => world.backUp(origin, options);

const imported = (backup: unknown, options: object = {}): Promise<SnapshotRef> =>
  world.rpc('import', { sandboxId: origin, backup, ...options });

const metadataOf = ({ id }: Handle) => `backups/${id}/meta.json`;

async function refused(call: () => Promise<unknown>, code: string) {
  const objects = await world.objects();
  const labels = await world.labels(origin);
  assert.equal((await world.failure(call())).code, code);
  assert.deepEqual([await world.objects(), await world.labels(origin)], [objects, labels]);
}

for (const transport of ['rpc', 'http'] as const) {
  test(`a backup of the SDK itself comes in, and is a snapshot as any other, over ${transport}`, async () => {
    const backup = await backUp({ name: 'nightly' });
    const options = { sandboxId: origin, backup, label: 'from before' };
    const ref = await world[transport]('import', options);
    assert.equal(ref.capture.label, 'from before');
    const row = (await world.list(origin)).snapshots[0];
    assert.deepEqual([row?.snapshotId, row?.restorable], [ref.ref.snapshotId, 'yes']);
    assert.equal((await world.rpc('manifest', { ref })).imported, true);
    assert.equal((await world.rpc('verify', { ref })).ok, true);
    await world.restores(ref, 'cat file', 'x\n');
  });
}

test('when it is deleted its objects stay: they are the application’s', async () => {
  const backup = await backUp();
  const objects = await world.objects();
  const ref = await imported(backup);
  assert.equal((await world.rpc('delete', { ref })).removed, true);
  assert.deepEqual(await world.labels(origin), []);
  assert.deepEqual(await world.objects(), objects);
});

for (const [whose, id] of Object.entries({
  'an earlier version': 'snap-0123456789abcdef',
  'another deployment': 'snap-k3f9x2ab0000zzzz',
})) {
  test(`what ${whose} made comes in with its id, and its objects stay when it is deleted`, async () => {
    const backup = await backUp({ name: `snapshotter/1 ${id} ${origin}` });
    const objects = await world.objects();
    const ref = await imported(backup);
    assert.equal(ref.ref.snapshotId, id);
    assert.equal((await world.rpc('manifest', { ref })).imported, true);
    assert.equal((await world.rpc('verify', { ref })).ok, true);
    await world.restores(ref, 'cat file', 'x\n');
    assert.equal((await world.rpc('delete', { ref, force: true })).removed, true);
    assert.deepEqual(await world.labels(origin), []);
    assert.deepEqual(await world.objects(), objects);

    const again = await imported(backup);
    assert.deepEqual(again.ref, ref.ref);
    await world.restores(again, 'cat file', 'x\n');
  });
}

test('what another deployment has made and keeps stays there when it is imported and deleted here', async () => {
  await using both = await World.start({ another: true });
  await both.exec('shared', 'echo x > file');
  const theirs: SnapshotRef = await both.another('snapshot', { sandboxId: 'shared' });
  const ref: SnapshotRef = await both.rpc('import', { sandboxId: 'shared', backup: theirs.ref.backup });
  assert.equal(ref.ref.snapshotId, theirs.ref.snapshotId);
  assert.equal((await both.failure(both.rpc('get', { ref: theirs }))).code, 'REF_MISMATCH');
  assert.equal((await both.rpc('delete', { ref })).removed, true);
  assert.equal((await both.another('verify', { ref: theirs })).ok, true);
});

test('what was made here and forgotten comes back by an import, and goes when it is deleted', async () => {
  await using later = await World.start({ clock: true });
  await later.exec('forgetful', 'echo x > file');
  const taken = await later.snapshot('forgetful');
  const { backup } = taken.ref;
  await later.orphan(taken);
  const call = { sandboxId: 'forgetful', backup };
  assert.equal((await later.failure(later.rpc('import', call))).code, 'REF_MISMATCH');
  await later.elapse('forgetful', 32 * 24 * 3600);
  const ref: SnapshotRef = await later.rpc('import', call);
  assert.deepEqual(ref.ref, taken.ref);
  assert.equal((await later.rpc('manifest', { ref })).imported, false);
  await later.rpc('delete', { ref });
  assert.deepEqual(await later.objects(), []);
});

test('it is kept by the policy as any other, and its objects stay', async () => {
  const backup = await backUp();
  const objects = await world.objects();
  await imported(backup, { label: 'imported' });
  const taken = await world.snapshot(origin, { label: 'taken' });
  await world.rpc('setRetention', { sandboxId: origin, policy: { keepLast: { count: 1 } } });
  assert.deepEqual(await world.labels(origin), ['taken']);
  const left = await world.objects();
  assert.ok(objects.every((key) => left.includes(key)));
  await world.restores(taken, 'cat file', 'x\n');
});

test('twice is once', async () => {
  const backup = await backUp();
  const [first, ...others] = await Promise.all([imported(backup), imported(backup), imported(backup)]);
  for (const other of others) assert.deepEqual(other, first);
  assert.deepEqual(await imported(backup, { label: 'another' }), first);
  assert.equal((await world.labels(origin)).length, 1);
});

test('what is in the ledger already is answered as it is', async () => {
  const taken = await world.snapshot(origin, { label: 'taken' });
  const known = await imported(taken.ref.backup, { label: 'another' });
  assert.deepEqual(known.ref, taken.ref);
  assert.deepEqual(await world.labels(origin), ['taken']);
});

test('a label that is taken is refused, and replaced where that is asked for', async () => {
  await world.snapshot(origin, { label: 'mine' });
  const backup = await backUp();
  await refused(() => imported(backup, { label: 'mine' }), 'LABEL_TAKEN');
  const ref = await imported(backup, { label: 'mine', replace: true });
  assert.equal((await world.get(ref)).label, 'mine');
});

describe('what is refused', () => {
  test('a backup that another sandbox’s snapshotter made', async () => {
    await world.exec('theirs', 'echo theirs > file');
    const { ref } = await world.snapshot('theirs');
    await refused(() => imported(ref.backup), 'REF_MISMATCH');
  });

  test('a backup of another directory than the handle says', async () => {
    const backup = { ...(await backUp()), dir: '/home' };
    await refused(() => imported(backup), 'REF_MISMATCH');
  });

  test('a backup that is not there', async () => {
    await refused(() => imported({ id: randomUUID(), dir: '/workspace' }), 'BACKUP_NOT_FOUND');
  });

  test('half a backup', async () => {
    const backup = await backUp();
    await world.delete(metadataOf(backup));
    await refused(() => imported(backup), 'BACKUP_INCOMPLETE');
  });

  test('a backup that the SDK restores no more', async () => {
    const backup = await backUp();
    const metadata = JSON.parse((await world.read(metadataOf(backup))) ?? '');
    await world.write(metadataOf(backup), JSON.stringify({ ...metadata, ttl: 30 }));
    await refused(() => imported(backup), 'BACKUP_EXPIRED');
  });

  test('a copy of a backup that carries the mark of a snapshot', async () => {
    const { ref } = await world.snapshot(origin);
    const backup = await backUp({ name: `snapshotter/1 ${ref.snapshotId} ${origin}` });
    await refused(() => imported(backup), 'REF_MISMATCH');
  });

  test('a handle that is none', async () => {
    for (const backup of [{}, { id: randomUUID() }, { id: '../x', dir: '/workspace' }, 'x', null]) {
      const error = await world.failure(imported(backup));
      assert.ok(['INVALID_ARGUMENT', 'INVALID_REF'].includes(error.code ?? ''), error.message);
    }
  });
});

test('a backup of the SDK itself is never taken in by anything else', async () => {
  const backup = await backUp();
  const ref = await world.snapshot(origin);
  const forged = structuredClone(ref);
  forged.ref.backup = backup;
  for (const method of ['restore', 'branch', 'get', 'verify', 'delete']) {
    assert.equal((await world.failure(world.rpc(method, { ref: forged }))).code, 'REF_MISMATCH', method);
  }
  assert.ok((await world.objects()).includes(metadataOf(backup)));
});

test('a backup that the SDK lets expire soon is known to be usable until then only', async () => {
  const backup = await backUp({ ttl: 3600 });
  const ref = await imported(backup);
  const { usableUntil, createdAt } = await world.rpc('manifest', { ref });
  assert.equal(Date.parse(usableUntil) - Date.parse(createdAt), (3600 - 60) * 1000);
});
