// Records of `DirectoryBackup` of the SDK 1.0: the backups of a class that uses it are snapshots, and can be imported.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';

import type { SnapshotRef } from '../../client/src/index.ts';
import { World } from '../world.ts';

let world: World;
before(async () => {
  const main = fileURLToPath(new URL('./directory-backup.ts', import.meta.url));
  world = await World.start({
    sandboxesOf: 'application',
    mode: 'container',
    caller: { main },
    snapshotter: { vars: { DIRECTORY_BACKUP_PREFIX: 'saved/' } },
  });
});
after(() => world[Symbol.asyncDispose]());

const MAKE = `mkdir -p sub; echo 1 >sub/file; ln -s sub/file link; printf 'a\\0b' >'odd name'; chmod 750 sub/file`;
const PRINT = `cat link; stat -c '%a %n' sub/file; od -c 'odd name'`;

const FORMAT = 'tar+zstd/1';

const keyOf = ({ id }: { id: string }) => `saved/${id}.tar.zst`;

const recordOf = (ref: SnapshotRef) =>
  ref.ref.backup as { id: string; dir: string; sha256: string; size: number };

const importRecord = (sandboxId: string, backup: unknown, transport: 'rpc' | 'http' = 'rpc') =>
  world[transport]('import', { sandboxId, backup });

test('a snapshot has the record of its class, which gets it back unchanged', async () => {
  await world.exec('taken', MAKE);
  const expected = await world.exec('taken', PRINT);
  const ref = await world.snapshot('taken');
  const record = recordOf(ref);
  assert.deepEqual(Object.keys(record).sort(), ['dir', 'format', 'id', 'name', 'sha256', 'size']);
  assert.deepEqual(await world.objects(), [keyOf(record)]);

  const [row] = (await world.list('taken')).snapshots;
  assert.deepEqual([row?.format, row?.sizeBytes, row?.restorable], [FORMAT, record.size, 'yes']);
  const manifest = await world.rpc('manifest', { ref });
  assert.deepEqual([manifest.format, manifest.objects, manifest.imported], [FORMAT, [keyOf(record)], false]);
  const { root } = await world.rpc('lineage', { sandboxId: 'taken' });
  assert.equal(root.snapshots[0].format, FORMAT);
  const { ok, checks } = await world.rpc('verify', { ref });
  assert.deepEqual(
    [ok, checks.map((check: any) => check.name)],
    [true, ['objects', 'header', 'checksum', 'sha256']],
  );

  const { ref: restored } = await world.rpc('restore', { ref });
  assert.equal(await world.exec(restored.sandboxId, PRINT), expected);
  const { expectedContainer, ...passed } = await world.sandbox(restored.sandboxId, 'restored');
  assert.deepEqual(passed, record);
  assert.equal(typeof expectedContainer, 'string');

  await world.rpc('delete', { ref, force: true });
  assert.deepEqual(await world.objects(), []);
});

test('the files of a snapshot are listed and read without a container', async () => {
  await world.exec('read', MAKE);
  const ref = await world.snapshot('read');
  await world.kill('read');
  const { files } = await world.rpc('files/list', { ref });
  assert.deepEqual(
    files.map(({ name, type }: any) => [name, type]),
    [
      ['link', 'symlink'],
      ['odd name', 'file'],
      ['sub', 'directory'],
    ],
  );
  assert.equal((await world.rpc('files/stat', { ref, path: 'sub/file' })).mode, '0750');
  assert.equal((await world.rpc('files/read', { ref, path: 'sub/file' })).content, '1\n');
  await world.rpc('delete', { ref });
});

test('an empty directory is captured and restored', async () => {
  await world.exec('empty', 'true');
  const ref = await world.snapshot('empty');
  await world.assertRestores(ref, 'ls -A', '');
});

for (const transport of ['rpc', 'http'] as const)
  test(`a record of the application is imported and restored over ${transport}, and a deletion keeps its object`, async () => {
    const id = `imported-${transport}`;
    await world.exec(id, MAKE);
    const expected = await world.exec(id, PRINT);
    const record: any = await world.backUp(id, { name: 'nightly' });
    const ref: SnapshotRef = await importRecord(id, record, transport);
    assert.deepEqual(recordOf(ref), record);
    assert.equal((await world.list(id)).snapshots[0]?.format, FORMAT);
    assert.equal((await world.rpc('manifest', { ref })).imported, true);
    assert.equal((await world.rpc('verify', { ref })).ok, true);
    await world.assertRestores(ref, PRINT, expected);
    assert.equal((await world.rpc('delete', { ref, force: true })).removed, true);
    assert.ok((await world.objects()).includes(keyOf(record)));
  });

test('an import is refused if the object is missing, has another prefix, another size or another SHA-256', async () => {
  await world.exec('refused', MAKE);
  const record: any = await world.backUp('refused', { name: 'nightly' });
  const refuse = async (backup: object, code: string, message: RegExp) => {
    const failed = await world.failure(importRecord('refused', backup));
    assert.equal(failed.code, code);
    assert.match(failed.message, message);
  };
  const { sha256, size } = record;
  await refuse({ ...record, id: crypto.randomUUID() }, 'BACKUP_NOT_FOUND', /no object "saved\//);
  await refuse(
    { ...record, sha256: '0'.repeat(64) },
    'BACKUP_INCOMPLETE',
    new RegExp(`SHA-256 is ${sha256}`),
  );
  await refuse({ ...record, size: size + 1 }, 'BACKUP_INCOMPLETE', /bytes instead of/);
  await refuse({ ...record, sha256: undefined }, 'INVALID_ARGUMENT', /must have a `size`/);
  await refuse({ ...record, format: 'tar+zstd/2' }, 'INVALID_ARGUMENT', /"tar\+zstd\/2"/);
  await world.sandbox('refused', 'copyObject', keyOf(record), `other/${record.id}.tar.zst`);
  await world.delete(keyOf(record));
  await refuse(record, 'BACKUP_NOT_FOUND', /no object "saved\//);
  await world.sandbox('refused', 'copyObject', `other/${record.id}.tar.zst`, keyOf(record));
  await world.sandbox('refused', 'corruptObject', keyOf(record));
  await refuse(record, 'BACKUP_INCOMPLETE', /SHA-256/);
  assert.deepEqual(await world.labels('refused'), []);
});

test('verify detects an archive with another SHA-256, and a restore of it fails', async () => {
  await world.exec('damaged', MAKE);
  const ref = await world.snapshot('damaged');
  await world.sandbox('damaged', 'corruptObject', keyOf(recordOf(ref)));
  const { ok, checks } = await world.rpc('verify', { ref });
  assert.equal(ok, false, JSON.stringify(checks));
  assert.equal((await world.list('damaged')).snapshots[0]?.restorable, 'no');
  assert.equal((await world.failure(world.rpc('restore', { ref }))).code, 'BACKUP_INCOMPLETE');
});

test('a missing object is reported', async () => {
  await world.exec('missing', MAKE);
  const ref = await world.snapshot('missing');
  await world.delete(keyOf(recordOf(ref)));
  assert.equal((await world.failure(world.rpc('restore', { ref }))).code, 'BACKUP_NOT_FOUND');
  assert.equal((await world.rpc('verify', { ref })).ok, false);
});

test('the mixin restores a record, and verifies its SHA-256', async () => {
  await world.exec('mixed', MAKE);
  const expected = await world.exec('mixed', PRINT);
  const record = await world.backUp('mixed');
  await world.exec('mixed-2', 'echo old >old');
  await world.sandbox('mixed-2', 'restoreWithMixin', record);
  assert.equal(await world.exec('mixed-2', `${PRINT}; ls -A | grep -c old ||:`), `${expected}0\n`);

  await world.sandbox('slim', 'launch', 'debian:slim');
  const noTool = await world.failure(world.sandbox('slim', 'restoreWithMixin', record));
  assert.match(noTool.message, /The image has no zstd\. Install zstd/);

  await world.sandbox('mixed', 'corruptObject', keyOf(record as any));
  await world.exec('mixed-2', 'echo 2 >added');
  const corrupt = await world.failure(world.sandbox('mixed-2', 'restoreWithMixin', record));
  assert.equal(corrupt.name, 'BackupIntegrityError');
  await world.delete(keyOf(record as any));
  const missing = await world.failure(world.sandbox('mixed-2', 'restoreWithMixin', record));
  assert.equal(missing.name, 'BackupNotFoundError');
  assert.equal(await world.exec('mixed-2', 'cat added'), '2\n');
});

test('a sweep deletes objects with the mark that no ledger lists, and keeps those of the application', async () => {
  await world.exec('swept', MAKE);
  const kept = await world.snapshot('swept');
  const own: any = await world.backUp('swept', { name: 'nightly' });
  const copy = { id: crypto.randomUUID() };
  await world.sandbox('swept', 'copyObject', keyOf(recordOf(kept)), keyOf(copy));
  const lost = await world.snapshot('swept');
  const elsewhere = `saved/folder/${crypto.randomUUID()}.tar.zst`;
  await world.sandbox('swept', 'copyObject', keyOf(recordOf(lost)), elsewhere);
  await world.sandbox('swept', 'copyObject', keyOf(recordOf(lost)), 'moved');
  await world.rpc('delete', { ref: lost });
  await world.sandbox('swept', 'copyObject', 'moved', keyOf(recordOf(lost)));
  const before = await world.objects();
  const swept = await world.rpc('sweep', { graceSeconds: 0 });
  assert.equal(swept.deleted, 2);
  assert.deepEqual(
    await world.objects(),
    before.filter((key) => key !== keyOf(recordOf(lost)) && key !== keyOf(copy)),
  );
  for (const key of [keyOf(own), keyOf(copy), keyOf(recordOf(kept)), elsewhere])
    assert.ok(before.includes(key));
});
