// Import of backups that the ledger does not list.

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

/** Creates a backup with the SDK, as an application does. */
const backUp = (options: object = {}): Promise<Handle> => world.backUp(origin, options);

const importBackup = (backup: unknown, options: object = {}): Promise<SnapshotRef> =>
  world.rpc('import', { sandboxId: origin, backup, ...options });

const metadataOf = ({ id }: Handle) => `backups/${id}/meta.json`;

async function assertRefused(call: () => Promise<unknown>, code: string) {
  const objects = await world.objects();
  const labels = await world.labels(origin);
  assert.equal((await world.failure(call())).code, code);
  assert.deepEqual([await world.objects(), await world.labels(origin)], [objects, labels]);
}

for (const transport of ['rpc', 'http'] as const) {
  test(`an import of a backup of the application creates a regular snapshot, over ${transport}`, async () => {
    const backup = await backUp({ name: 'nightly' });
    const options = { sandboxId: origin, backup, label: 'imported' };
    const ref = await world[transport]('import', options);
    assert.equal(ref.capture.label, 'imported');
    const row = (await world.list(origin)).snapshots[0];
    assert.deepEqual([row?.snapshotId, row?.restorable], [ref.ref.snapshotId, 'yes']);
    assert.equal((await world.rpc('manifest', { ref })).imported, true);
    assert.equal((await world.rpc('verify', { ref })).ok, true);
    await world.assertRestores(ref, 'cat file', 'x\n');
  });
}

test('a deletion of an imported snapshot keeps the objects of the application', async () => {
  const backup = await backUp();
  const objects = await world.objects();
  const ref = await importBackup(backup);
  assert.equal((await world.rpc('delete', { ref })).removed, true);
  assert.deepEqual(await world.labels(origin), []);
  assert.deepEqual(await world.objects(), objects);
});

for (const [source, id] of Object.entries({
  'an earlier version': 'snap-0123456789abcdef',
  'another deployment': 'snap-k3f9x2ab0000zzzz',
})) {
  test(`an import of a backup of ${source} keeps its snapshot id, and its deletion keeps the objects`, async () => {
    const backup = await backUp({ name: `snapshotter/1 ${id} ${origin}` });
    const objects = await world.objects();
    const ref = await importBackup(backup);
    assert.equal(ref.ref.snapshotId, id);
    assert.equal((await world.rpc('manifest', { ref })).imported, true);
    assert.equal((await world.rpc('verify', { ref })).ok, true);
    await world.assertRestores(ref, 'cat file', 'x\n');
    assert.equal((await world.rpc('delete', { ref, force: true })).removed, true);
    assert.deepEqual(await world.labels(origin), []);
    assert.deepEqual(await world.objects(), objects);

    const again = await importBackup(backup);
    assert.deepEqual(again.ref, ref.ref);
    await world.assertRestores(again, 'cat file', 'x\n');
  });
}

test('a deletion of an imported snapshot keeps the one of the deployment that took it', async () => {
  await using both = await World.start({ otherDeployment: true });
  await both.exec('shared', 'echo x > file');
  const other: SnapshotRef = await both.callOtherDeployment('snapshot', { sandboxId: 'shared' });
  const ref: SnapshotRef = await both.rpc('import', { sandboxId: 'shared', backup: other.ref.backup });
  assert.equal(ref.ref.snapshotId, other.ref.snapshotId);
  assert.equal((await both.failure(both.rpc('get', { ref: other }))).code, 'REF_MISMATCH');
  assert.equal((await both.rpc('delete', { ref })).removed, true);
  assert.equal((await both.callOtherDeployment('verify', { ref: other })).ok, true);
});

test('an import of a backup of this deployment whose tombstone was deleted restores the snapshot, and its deletion deletes the objects', async () => {
  await using timed = await World.start({ clock: true });
  await timed.exec('purged', 'echo x > file');
  const taken = await timed.snapshot('purged');
  const { backup } = taken.ref;
  await timed.orphanBackup(taken);
  const call = { sandboxId: 'purged', backup };
  assert.equal((await timed.failure(timed.rpc('import', call))).code, 'REF_MISMATCH');
  await timed.advanceClock('purged', 32 * 24 * 3600);
  const ref: SnapshotRef = await timed.rpc('import', call);
  assert.deepEqual(ref.ref, taken.ref);
  assert.equal((await timed.rpc('manifest', { ref })).imported, false);
  await timed.rpc('delete', { ref });
  assert.deepEqual(await timed.objects(), []);
});

test('a retention policy applies to imported snapshots, and keeps their objects', async () => {
  const backup = await backUp();
  const objects = await world.objects();
  await importBackup(backup, { label: 'imported' });
  const taken = await world.snapshot(origin, { label: 'taken' });
  await world.rpc('setRetention', { sandboxId: origin, policy: { keepLast: { count: 1 } } });
  assert.deepEqual(await world.labels(origin), ['taken']);
  const left = await world.objects();
  assert.ok(objects.every((key) => left.includes(key)));
  await world.assertRestores(taken, 'cat file', 'x\n');
});

test('repeated and concurrent imports of one backup create one snapshot', async () => {
  const backup = await backUp();
  const [first, ...others] = await Promise.all([
    importBackup(backup),
    importBackup(backup),
    importBackup(backup),
  ]);
  for (const other of others) assert.deepEqual(other, first);
  assert.deepEqual(await importBackup(backup, { label: 'another' }), first);
  assert.equal((await world.labels(origin)).length, 1);
});

test('an import of a recorded snapshot returns that snapshot unchanged', async () => {
  const taken = await world.snapshot(origin, { label: 'taken' });
  const recorded = await importBackup(taken.ref.backup, { label: 'another' });
  assert.deepEqual(recorded.ref, taken.ref);
  assert.deepEqual(await world.labels(origin), ['taken']);
});

test('an import with a used label is refused without replace', async () => {
  await world.snapshot(origin, { label: 'used' });
  const backup = await backUp();
  await assertRefused(() => importBackup(backup, { label: 'used' }), 'LABEL_TAKEN');
  const ref = await importBackup(backup, { label: 'used', replace: true });
  assert.equal((await world.get(ref)).label, 'used');
});

describe('an import is refused for', () => {
  test('a snapshot of another sandbox', async () => {
    await world.exec('other', 'echo other > file');
    const { ref } = await world.snapshot('other');
    await assertRefused(() => importBackup(ref.backup), 'REF_MISMATCH');
  });

  test('a handle with another directory than the backup', async () => {
    const backup = { ...(await backUp()), dir: '/home' };
    await assertRefused(() => importBackup(backup), 'REF_MISMATCH');
  });

  test('a missing backup', async () => {
    await assertRefused(() => importBackup({ id: randomUUID(), dir: '/workspace' }), 'BACKUP_NOT_FOUND');
  });

  test('a backup without metadata', async () => {
    const backup = await backUp();
    await world.delete(metadataOf(backup));
    await assertRefused(() => importBackup(backup), 'BACKUP_INCOMPLETE');
  });

  test('a backup that has expired for the SDK', async () => {
    const backup = await backUp();
    const metadata = JSON.parse((await world.read(metadataOf(backup))) ?? '');
    await world.write(metadataOf(backup), JSON.stringify({ ...metadata, ttl: 30 }));
    await assertRefused(() => importBackup(backup), 'BACKUP_EXPIRED');
  });

  test('a copy of a backup with the mark of a snapshot', async () => {
    const { ref } = await world.snapshot(origin);
    const backup = await backUp({ name: `snapshotter/1 ${ref.snapshotId} ${origin}` });
    await assertRefused(() => importBackup(backup), 'REF_MISMATCH');
  });

  test('an invalid handle', async () => {
    for (const backup of [{}, { id: randomUUID() }, { id: '../x', dir: '/workspace' }, 'x', null]) {
      const error = await world.failure(importBackup(backup));
      assert.ok(['INVALID_ARGUMENT', 'INVALID_REF'].includes(error.code ?? ''), error.message);
    }
  });
});

test('a forged ref of a backup of the application is refused by every other operation', async () => {
  const backup = await backUp();
  const ref = await world.snapshot(origin);
  const forged = structuredClone(ref);
  forged.ref.backup = backup;
  for (const method of ['restore', 'branch', 'get', 'verify', 'delete']) {
    assert.equal((await world.failure(world.rpc(method, { ref: forged }))).code, 'REF_MISMATCH', method);
  }
  assert.ok((await world.objects()).includes(metadataOf(backup)));
});

test('usableUntil of an import is one minute before the backup expires for the SDK', async () => {
  const backup = await backUp({ ttl: 3600 });
  const ref = await importBackup(backup);
  const { usableUntil, createdAt } = await world.rpc('manifest', { ref });
  assert.equal(Date.parse(usableUntil) - Date.parse(createdAt), (3600 - 60) * 1000);
});
