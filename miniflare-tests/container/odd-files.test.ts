// Directories that are hard to capture and to restore, in images with squashfs-tools and without.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';

import { World } from '../world.ts';

const MAKE = String.raw`mkdir -p './-rf' $'line\nbreak' "it's" 'back\slash' '"quoted"' '[a]*?' ' space ' './...' deep
  for d in ./*; do echo "$d" >"$d/-x"; echo "$d" >"$d/"$'\n'; done
  p=deep; for n in $(seq 60); do p=$p/directory; mkdir $p; done; echo end >$p/file
  echo 1 >file; ln file hard; ln file deep/hard; ln -s / root; ln -s missing dangling; mkfifo fifo
  python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")' || :
  truncate -s 2G sparse; printf end >>sparse; chmod 4755 file; mkdir read-only; echo 1 >read-only/file
  touch -d @1700000123 file; touch -h -d @1600000000 root; chmod 555 read-only; chmod 0 deep/hard`;

/** Prints all paths with their metadata, without the socket that tar leaves out, and the content of small files. */
const PRINT = String.raw`find . -mindepth 1 ! -type s -printf '%P\t%y\t%m\t%n\t%l\t%U:%G\t' \( -type d -printf '\n' -o -printf '%s\t%T@\n' \) | sed 's|[.][0-9]*$||' |
  sort; find . -type f -size -1M -exec sha256sum {} + | sort; [ $(du -k sparse | cut -f 1) -lt 1000 ] && tail -c 3 sparse`;

for (const [image, main] of [
  ['with squashfs-tools', undefined],
  ['without squashfs-tools', './own-class.ts'],
] as const)
  describe(`an image ${image}`, () => {
    let world: World;
    before(async () => {
      const caller = main && { main: fileURLToPath(new URL(main, import.meta.url)) };
      world = await World.start({ sandboxesOf: 'application', mode: 'container', ...(caller && { caller }) });
    });
    after(() => world[Symbol.asyncDispose]());

    test('odd names, links, sparse files, pipes and permissions are restored', async () => {
      await world.exec('odd', MAKE);
      const expected = await world.exec('odd', PRINT);
      const backup = await world.backUp('odd');
      await world.sandbox('odd-2', 'restoreBackup', backup);
      assert.equal(await world.exec('odd-2', PRINT), expected);
      await world.sandbox('odd-2', 'restoreBackup', backup); // Replaces read-only directories.
      assert.equal(await world.exec('odd-2', PRINT), expected);
    });

    test('100,000 small files are captured and restored', async () => {
      const make = 'for d in $(seq 100); do mkdir $d; (cd $d; seq 1000 | split -l 1 -a 3 -); done';
      const print = 'find . -type f | wc -l; find . -type f | sort | xargs cat | sha256sum';
      await world.exec('many', make);
      const expected = await world.exec('many', print);
      assert.match(expected, /^100000\n/);
      const backup = await world.backUp('many');
      await world.sandbox('many-2', 'restoreBackup', backup);
      assert.equal(await world.exec('many-2', print), expected);
    });

    test('a directory in which a file system is mounted is not replaced', async () => {
      await world.exec('mounts', 'mkdir -p data; echo 1 >file');
      const backup = await world.backUp('mounts');
      await world.exec('mounts', 'mount -t tmpfs tmpfs data && echo kept >data/file; echo 2 >file');
      const { name, message } = await world.failure(world.sandbox('mounts', 'restoreBackup', backup));
      assert.equal(name, 'BackupRestoreError');
      assert.match(message, /mounted at \/workspace\/data/);
      assert.equal(
        await world.exec('mounts', 'cat file data/file; ls -A / | grep -c "^.snapshotter" ||:'),
        '2\nkept\n0\n',
      );
      await world.exec('mounts', 'umount data');
      await world.sandbox('mounts', 'restoreBackup', backup);
      assert.equal(await world.exec('mounts', 'cat file; ls data'), '1\n');
    });

    test('a disk that is full fails a restore, which changes nothing, and a capture needs no space', async () => {
      await world.exec('full', 'head -c 20M /dev/urandom >big; echo 1 >file');
      const backup = await world.backUp('full', { excludes: ['none'] });
      await world.exec('full', 'mount -t tmpfs -o size=5M tmpfs /var/backups; echo 2 >file');
      const streamed = await world.backUp('full');
      assert.match(`${streamed.format}`, /^tar/);
      const before = await world.objects();
      const restore = await world.failure(world.sandbox('full', 'restoreBackup', backup));
      assert.equal(restore.name, 'NoSpaceError');
      assert.match(restore.message, /\d+ kB are needed in \/var\/backups\/.*, and \d+ kB are free/);
      assert.deepEqual(await world.objects(), before);
      assert.equal(await world.exec('full', 'cat file; ls /var/backups/*; umount /var/backups'), '2\n');
      await world.sandbox('full', 'restoreBackup', backup);
      assert.equal(await world.exec('full', 'cat file'), '1\n');
      await world.sandbox('full', 'restoreBackup', streamed);
      assert.equal(await world.exec('full', 'cat file'), '2\n');
    });
  });
