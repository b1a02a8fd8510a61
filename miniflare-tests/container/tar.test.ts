// Archives of tar, which the class makes in an image without squashfs-tools.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';

import { World } from '../world.ts';

let world: World;
before(async () => {
  const main = fileURLToPath(new URL('./own-class.ts', import.meta.url));
  world = await World.start({ sandboxesOf: 'application', mode: 'container', caller: { main } });
});
after(() => world[Symbol.asyncDispose]());

/** Returns the metadata of a backup. */
const metadata = async ({ id }: { id: string }) =>
  JSON.parse((await world.read(`backups/${id}/meta.json`)) ?? '');

/** Starts a command in a container, which continues. */
const background = (id: string, command: string) => world.exec(id, `{ ${command}; } 2>/dev/null &`);

test('the metadata names the format and the number of entries, and verify accepts the archive', async () => {
  await world.exec('verified', `mkdir sub; echo 1 >sub/file; ln sub/file hard; touch $'line\\nbreak' a.o`);
  const backup = await world.backUp('verified', { excludes: ['*.o'] });
  const { format, entries } = await metadata(backup);
  assert.deepEqual([format, entries], ['tar+gzip', 4]);
  const ref = await world.snapshot('verified');
  const { ok, checks } = await world.rpc('verify', { ref });
  assert.equal(ok, true, JSON.stringify(checks));
});

test('the files of an archive are listed and read without a container', async () => {
  await world.exec(
    'read',
    `mkdir sub; echo 1 >sub/file; ln sub/file hard; truncate -s 1M hole; echo x >>hole`,
  );
  const ref = await world.snapshot('read');
  await world.kill('read');
  const { files } = await world.rpc('files/list', { ref });
  const listed = files.map(({ name, type, sizeBytes }: any) => [name, type, sizeBytes]);
  assert.deepEqual(listed, [
    ['hard', 'file', 2],
    ['hole', 'file', 1_048_578],
    ['sub', 'directory', 0],
  ]);
  for (const path of ['hard', 'sub/file'])
    assert.equal((await world.rpc('files/read', { ref, path })).content, '1\n');
  const end = await world.rpc('files/read', { ref, path: 'hole', offset: 1_048_575 });
  assert.equal(end.content, '\0x\n');
});

test('an empty directory is captured and restored', async () => {
  await world.exec('empty', 'rm -f file');
  const ref = await world.snapshot('empty');
  assert.equal((await metadata(ref.ref.backup as { id: string })).entries, 0);
  assert.equal((await world.rpc('verify', { ref })).ok, true);
  await world.assertRestores(ref, 'ls -A', '');
});

test('a file that changes while it is read does not fail the capture', async () => {
  await world.exec('changing', 'head -c 20M /dev/urandom >file; echo 1 >other');
  await background('changing', 'until [ -e /tmp/captured ]; do echo >>file; done');
  const backup = await world.backUp('changing');
  await world.exec('changing', ': >/tmp/captured');
  await world.sandbox('unchanging', 'restoreBackup', backup);
  assert.equal(await world.exec('unchanging', 'cat other; head -c 20M file | wc -c'), '1\n20971520\n');
});

for (const program of ['tar', 'gzip'])
  test(`an end of ${program} is no success`, async () => {
    const [id, before] = [`killed-${program}`, await world.objects()];
    await world.exec(id, 'head -c 60M /dev/urandom >file');
    await background(id, `until pkill -KILL -x ${program}; do :; done`);
    const failed = await world.failure(world.backUp(id));
    assert.equal(failed.name, 'BackupCreateError');
    assert.deepEqual(await world.objects(), before);

    const backup = await world.backUp(id);
    await world.exec(id, 'echo 1 >added');
    await background(id, `until pkill -KILL -x ${program}; do :; done`);
    const { name } = await world.failure(world.sandbox(id, 'restoreBackup', backup));
    assert.equal(name, 'BackupRestoreError');
    assert.equal(
      await world.exec(id, 'cat added; ls -A / /var/backups/* | grep -c snapshotter ||:'),
      '1\n1\n',
    );
  });
