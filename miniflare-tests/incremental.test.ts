// Incremental snapshots, with the real programs: each change of a directory is in the delta, and a restore has the same files by
// content, type, mode, owner, time, links and extended attributes. In production mode, from a disk and from an overlay.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { TOKEN, World } from './world.ts';
import type { Capture, SnapshotRef } from '../client/src/index.ts';

/** Files that no archive compresses, of which there must be 5 MB. */
const LARGE = 'head -c 6000000 /dev/urandom >/workspace/large';

const isProduction = process.env.SANDBOX_MODE === 'production';

/**
 * Prints everything that a restore must preserve: an archive of tar has all but the times, of which a squashfs has 32 bits. An
 * overlay shows the names of a file as several files.
 */
const DESCRIBE = String.raw`cd /workspace && tar ${isProduction ? '--hard-dereference' : ''} --sort=name --mtime=@0 --format=posix --xattrs --xattrs-include='*' --numeric-owner \
  --pax-option=delete=atime,delete=ctime,exthdr.name=%d/%f --warning=none --exclude=./socket -cf - . | sha256sum
find . ! -type s ! -type l -printf '%P %Ts\0' | perl -0 -pe 's/(-?\d+)\0\z/($1 % 2**32) . "\0"/e' | sort -z | sha256sum`;

/** Sets an extended attribute with programs that every image has: an archive of tar can contain one. */
const attribute = (path: string, name: string) =>
  `mkdir -p /tmp/x && rm -rf /tmp/x/f && ${path.endsWith('/') ? 'mkdir' : ': >'} /tmp/x/f && tar -C /tmp/x --format=posix --pax-option='SCHILY.xattr.user.${name}:=1' -cf - f |
   tar -C "$(dirname '${path}')" --xattrs --xattrs-include='*' --transform "s,^f,$(basename '${path}')," -xf -`;

interface Change {
  /** What exists in the base. */
  given?: string;
  /** The change, of which the command is run in the directory of the case. */
  change: string;
  /** Whether the change is not made on an overlay. */
  isForDisks?: boolean;
}

const CHANGES: Record<string, Change> = {
  nothing: { change: ':' },
  'the content of the same size with the same time': {
    given: 'echo old >f',
    change: 't=$(stat -c %y f); echo new >f; touch -d "$t" f',
  },
  'two writes in one tick of the clock': { given: 'echo 1 >f', change: 'echo 2 >f; echo 3 >f' },
  'a write through a memory map': {
    given: 'head -c 8192 /dev/zero >f',
    change: `perl -e 'use strict; open(my $f, "+<:mmap", "f") or die; seek($f, 100, 0); print $f "x"; close $f'`,
  },
  'a sparse file': {
    change: 'truncate -s 300K f; printf x | dd of=f bs=1 seek=200000 conv=notrunc 2>/dev/null',
  },
  'an appended and a truncated file': {
    given: 'seq 1000 >f; seq 1000 >g',
    change: 'echo more >>f; truncate -s 10 g',
  },
  'a replaced file': { given: 'echo old >f', change: 'echo new >g; mv g f' },
  'odd names': {
    given: String.raw`for n in $'a\nb' $'\xff\xfe' -rf '*' '[' '\' ' ' "'" '"' '$(x)' '...'; do echo 1 >"./$n"; done; mkdir ./-d`,
    change: String.raw`for n in $'a\nb' -rf '*' '\' "'"; do echo 2 >"./$n"; done; rm ./'[' ./' '; echo 3 >$'./-d/\x01\n'; mkdir $'./n\n'`,
  },
  'long names and a long path': {
    given: 'n=$(printf x%.0s $(seq 199)); echo 1 >$n',
    change:
      'n=$(printf x%.0s $(seq 199)); echo 2 >$n; for i in 1 2 3 4 5 6 7 8 9 10; do mkdir $n. && cd $n. || exit 1; done; echo deep >f',
  },
  'a renamed directory with unchanged files': {
    given: 'mkdir -p a/b; echo 1 >a/f; echo 2 >a/b/g',
    change: 'mv a c',
  },
  'swapped directories': {
    given: 'mkdir a b; echo 1 >a/f; echo 2 >b/f; echo 3 >b/g',
    change: 'mv a t; mv b a; mv t b',
  },
  'a directory moved into another one': { given: 'mkdir -p a/b c; echo 1 >a/b/f', change: 'mv a c/a' },
  'a directory that was made again': {
    given: 'mkdir -p a/b; echo 1 >a/f; echo 2 >a/b/g',
    change: 'rm -r a; mkdir a; echo 3 >a/h',
  },
  'empty directories': { given: 'mkdir -p a/b', change: 'rmdir a/b; mkdir -p c/d' },
  'a directory without permissions': {
    given: 'mkdir a; echo 1 >a/f',
    change: 'echo 2 >a/g; chmod 000 a',
  },
  'a directory with the setgid bit': { given: 'mkdir a', change: 'chgrp 7 a; chmod 2775 a; echo 1 >a/f' },
  'deleted files': { given: 'mkdir a; echo 1 >a/f; echo 2 >g', change: 'rm a/f g' },
  'every pair of types': {
    given:
      'for from in file dir link; do for to in file dir link; do p=$from-$to; case $from in file) echo 1 >$p ;; dir) mkdir $p; echo 1 >$p/f ;; link) ln -s target $p ;; esac; done; done',
    change:
      'for from in file dir link; do for to in file dir link; do p=$from-$to; rm -rf $p; case $to in file) echo 2 >$p ;; dir) mkdir $p; echo 2 >$p/g ;; link) ln -s other $p ;; esac; done; done',
  },
  'symbolic links that lead out': {
    given: 'ln -s /etc a; mkdir b; echo 1 >b/passwd',
    change:
      'rm -r b; ln -s /etc b; rm a; mkdir a; echo 2 >a/passwd; ln -s ../../.. up; ln -s / "x//y"; ln -s "a//b" c',
  },
  'hard links': {
    isForDisks: true,
    given: 'echo 1 >a; ln a b; echo 2 >c; ln c d; echo 3 >e; echo 4 >g; ln g h',
    change: 'rm b; cp d t; mv t d; ln e f; ln g i',
  },
  'a hard link across a renamed parent': {
    isForDisks: true,
    given: 'mkdir a b; echo 1 >a/x; ln a/x b/y',
    change: 'mv a c',
  },
  'a hard link to a name outside': {
    given: 'echo 1 >a; ln a /workspace/../tmp/outside.$$ 2>/dev/null || :; echo 2 >b',
    change: 'echo 3 >>a',
  },
  'modes and owners': {
    given: 'for n in 1 2 3 4 5; do echo $n >f$n; done; mkdir d; ln -s f1 l',
    change: 'chmod 4755 f1; chown 7:8 f2; chown 9 f3; chmod 6711 f3; chmod 1777 d; chown -h 5:6 l',
  },
  'times before 1970 and after 2038': {
    given: 'echo 1 >a; touch -d 1950-01-01 a; echo 2 >b; touch -d 2100-01-01 b; echo 3 >c; echo 4 >d',
    change: 'touch -d 1960-01-01T00:00:00.5 c; touch -d 2090-01-01 d; echo 5 >e',
  },
  'extended attributes of files': {
    given: 'echo 1 >a; echo 2 >b',
    change: `${attribute('./b', 'new')}; ${attribute('./c', 'own')}`,
  },
  'a socket': {
    given: 'echo 1 >f',
    change: `perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0); bind($s, pack_sockaddr_un("socket"))'; echo 2 >f`,
  },
};

const INCREMENTAL = { snapshotter: { vars: { INCREMENTAL: 'true' }, port: 0 }, disk: true };

/** Takes a delta of a sandbox, and asserts that a restore of it has the same files. */
async function assertDelta(world: World, id: string) {
  const { capture, ...snapshot } = await world.snapshot(id);
  assert.deepEqual([capture.form, capture.reason], ['delta', undefined]);
  const expected = await world.exec(id, DESCRIBE);
  const { sandboxId } = (await world.restore(snapshot)).ref;
  const restored = await world.exec(sandboxId, DESCRIBE);
  if (restored !== expected) assert.equal(await listing(world, sandboxId), await listing(world, id));
  assert.equal(restored, expected);
  await world.sandbox(sandboxId, 'destroy');
  return { snapshot, capture };
}

/** Asserts that an export of a delta, which the Worker reads from two archives, has the same files as the sandbox. */
async function assertExport(world: World, id: string, snapshot: SnapshotRef) {
  // An export has no extended attributes.
  const describe = DESCRIBE.replace("--xattrs --xattrs-include='*' ", '');
  const query = new URLSearchParams({ ref: JSON.stringify(snapshot) });
  const response = await fetch(await world.url(`/v1/files/export?${query}`), {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  assert.equal(response.status, 200);
  const folder = await mkdtemp(join(tmpdir(), 'delta-'));
  try {
    const options = ['-C', folder, '--numeric-owner', '--same-owner', '-xpf', '-'];
    execFileSync('tar', options, { input: Buffer.from(await response.arrayBuffer()) });
    const found = execFileSync('bash', ['-c', describe.replace('/workspace', folder)], { encoding: 'utf8' });
    assert.equal(found, await world.exec(id, describe));
  } finally {
    await rm(folder, { recursive: true });
  }
}

const listing = (world: World, id: string) =>
  world.exec(
    id,
    String.raw`cd /workspace; find . ! -type s \( -type f -printf '%P %y %m %U %G %s %Ts %n\n' -o -printf '%P %y %m %U %G %Ts %l\n' \) | sort`,
  );

/** Returns a command that makes what exists in the base. */
const given = (changes: Change[]) => {
  const made = changes.map(
    ({ given = ':' }, index) => `(mkdir /workspace/${index} && cd /workspace/${index} && ${given}) || exit 1`,
  );
  return `(${[...made, LARGE].join('\n')})`;
};

describe('a delta', () => {
  let world: World;
  let base: SnapshotRef;
  let firstCapture: Capture;
  before(async () => {
    world = await World.start(INCREMENTAL);
    await world.exec('agent', given(Object.values(CHANGES)));
    ({ capture: firstCapture, ...base } = await world.snapshot('agent'));
  });
  after(() => world[Symbol.asyncDispose]());

  test('has a full snapshot as its base', () => {
    assert.deepEqual([firstCapture.form, firstCapture.reason], ['full', 'noBase']);
  });

  for (const [index, [name, { change }]] of Object.entries(CHANGES).entries()) {
    test(`restores ${name}`, async () => {
      await world.exec('agent', `(cd /workspace/${index} && ${change})`);
      const { capture } = await assertDelta(world, 'agent');
      assert.equal(capture.base, base.ref.snapshotId);
    });
  }

  test('restores the directory itself', async () => {
    await world.exec('agent', 'chmod 2750 /workspace; chgrp 5 /workspace; touch -d 2001-01-01 /workspace');
    const { snapshot } = await assertDelta(world, 'agent');
    await assertExport(world, 'agent', snapshot);
  });

  test('of nothing is small, and leaves nothing in the container', async () => {
    const { capture, snapshot } = await assertDelta(world, 'agent');
    assert.ok(capture.storedBytes < 2_000_000, `${capture.storedBytes}`);
    const left =
      'ls -d /var/tmp/.sandbox-snapshotter* /tmp/.sandbox-snapshotter* /run/sandbox-snapshotter.base/work 2>/dev/null; :';
    assert.equal(await world.exec('agent', left), '');
    const { sandboxId } = (await world.restore(snapshot)).ref;
    assert.equal(await world.exec(sandboxId, left), '');
    assert.equal(await world.exec(sandboxId, 'grep sandbox-snapshotter.delta /proc/self/mountinfo; :'), '');
  });

  test('can be verified, listed, read, compared and deleted', async () => {
    await world.exec('agent', '(cd /workspace; mkdir read; echo new >read/f)');
    const { capture: _, ...snapshot } = await world.snapshot('agent');
    assert.equal((await world.rpc('verify', { ref: snapshot })).ok, true);
    const shown = await world.get(snapshot);
    assert.deepEqual([shown.form, shown.base, shown.restorable], ['delta', base.ref.snapshotId, 'yes']);
    const { files } = await world.rpc('files/list', { ref: snapshot, limit: 1000 });
    const names = files.map(({ name }: { name: string }) => name).join('\n');
    assert.equal(`${names}\n`, await world.exec('agent', 'ls -A /workspace | LC_ALL=C sort'));
    const { content } = await world.rpc('files/read', { ref: snapshot, path: 'read/f' });
    assert.equal(content, 'new\n');
    assert.equal((await world.rpc('files/download', { ref: snapshot, path: 'read/f' })).text, 'new\n');
    const { changes } = await world.rpc('diff', { from: { ref: base }, to: { ref: snapshot }, limit: 1000 });
    const added = changes.filter(({ path }: { path: string }) => path.startsWith('read'));
    assert.deepEqual(
      added.map(({ path, change }: { path: string; change: string }) => [path, change]),
      [
        ['read', 'added'],
        ['read/f', 'added'],
      ],
    );
    await world.exec('agent', 'rm /workspace/read/f');
    await world.rpc('files/restore', { ref: snapshot, paths: ['read/f'], to: 'agent' });
    assert.equal(await world.exec('agent', 'cat /workspace/read/f'), 'new\n');
    assert.equal((await world.rpc('delete', { ref: snapshot })).removed, true);
  });
});

if (isProduction) {
  describe('a delta of files over a mounted base', () => {
    const changes = Object.entries(CHANGES).filter(([, { isForDisks }]) => !isForDisks);
    let world: World;
    let sandboxId: string;
    before(async () => {
      world = await World.start(INCREMENTAL);
      const workspace = world.workspace('work');
      ({ sandboxId } = await workspace.create({}));
      await world.exec(sandboxId, given(changes.map(([, change]) => change)));
      await workspace.stop();
      await workspace.start();
    });
    after(() => world[Symbol.asyncDispose]());

    for (const [index, [name, { change }]] of changes.entries()) {
      test(`restores ${name}`, async () => {
        await world.exec(sandboxId, `(cd /workspace/${index} && ${change})`);
        await assertDelta(world, sandboxId);
      });
    }

    test('restores the directory itself', async () => {
      await world.exec(
        sandboxId,
        'chmod 2750 /workspace; chgrp 5 /workspace; touch -d 2001-01-01 /workspace',
      );
      const { snapshot } = await assertDelta(world, sandboxId);
      await assertExport(world, sandboxId, snapshot);
    });
  });

  test('a snapshot over a mounted base is full where files have several names', async () => {
    await using world = await World.start(INCREMENTAL);
    for (const [index, change] of [
      'echo 2 >b',
      'mv a c',
      'rm a',
      'rm -r d',
      'mv d/a c; rm -r d',
      'ln f g',
    ].entries()) {
      const workspace = world.workspace(`work-${index}`);
      const { sandboxId } = await workspace.create({});
      await world.exec(sandboxId, `(${LARGE}; cd /workspace; mkdir d; echo 1 >a; ln a b; ln a d/a; echo >f)`);
      await workspace.stop();
      await workspace.start();
      await world.exec(sandboxId, `(cd /workspace; ${change})`);
      const { capture } = await world.snapshot(sandboxId);
      assert.deepEqual([capture.form, capture.reason], ['full', 'special'], change);
      await workspace.delete();
    }
  });
} else {
  describe('a snapshot is full', () => {
    let world: World;
    before(async () => {
      world = await World.start({ snapshotter: { vars: { INCREMENTAL: 'true' } }, disk: true });
    });
    after(() => world[Symbol.asyncDispose]());

    const cases: Record<string, { given?: string; change: string; reason: string }> = {
      'where a quarter of the bytes changed': {
        change: 'head -c 2000000 /dev/urandom >new',
        reason: 'large',
      },
      'with a name of 201 bytes': { change: ': >$(printf x%.0s $(seq 201))', reason: 'special' },
      'with a name that marks a deletion in an overlay': { change: ': >.wh.a', reason: 'special' },
      'with a FIFO': { change: 'mkfifo pipe', reason: 'special' },
      'with a symbolic link that has two names': { change: 'ln -s x a; ln a b', reason: 'special' },
      'without the inventory of its base': {
        change: 'rm /run/sandbox-snapshotter.base/inventory',
        reason: 'container',
      },
      'with a shortened inventory': {
        change: 'truncate -s -1 /run/sandbox-snapshotter.base/inventory',
        reason: 'inventory',
      },
      'with an inventory that lacks a record': {
        change: String.raw`perl -0 -i -pe 'undef $_ if m{large//}' /run/sandbox-snapshotter.base/inventory`,
        reason: 'inventory',
      },
    };
    for (const [index, [name, { given = ':', change, reason }]] of Object.entries(cases).entries()) {
      test(name, async () => {
        const id = `full-${index}`;
        await world.exec(id, `(${LARGE}; cd /workspace; ${given})`);
        await world.snapshot(id);
        await world.exec(id, `(cd /workspace; ${change})`);
        const { capture, ...snapshot } = await world.snapshot(id);
        assert.deepEqual([capture.form, capture.reason], ['full', reason]);
        const { sandboxId } = (await world.restore(snapshot)).ref;
        const names = 'ls /workspace';
        assert.equal(await world.exec(sandboxId, names), await world.exec(id, names));
        await world.sandbox(sandboxId, 'destroy');
      });
    }

    test('on a file system that may not record all changes', async () => {
      await using memory = await World.start({ snapshotter: { vars: { INCREMENTAL: 'true' } } });
      await memory.exec('agent', LARGE);
      await memory.snapshot('agent');
      assert.equal((await memory.snapshot('agent')).capture.reason, 'fileSystem');
    });
  });
}

describe('files that change during a capture', () => {
  test('of the base are in the next delta', async () => {
    let during: (() => Promise<unknown>) | undefined;
    await using world = await World.start({
      snapshotter: { vars: { INCREMENTAL: 'true' } },
      disk: true,
      onCall: async ({ method, command = '' }) => {
        const isArchive =
          method === 'container.exec'
            ? command.includes('mksquashfs "$d"')
            : method === 'backup.createArchive';
        if (!isArchive || !during) return;
        const run = during;
        during = undefined;
        await run();
      },
    });
    await world.exec('agent', `(${LARGE}; cd /workspace; mkdir -p a/b; echo 1 >a/b/f; echo 2 >g)`);
    // The archive has the renamed directory, and the inventory the former one.
    during = () => world.exec('agent', '(cd /workspace; mv a moved; echo 3 >g; echo 4 >temporary)');
    await world.snapshot('agent');
    await world.exec('agent', '(cd /workspace; mv moved a; rm temporary)');
    const expected = await world.exec('agent', DESCRIBE);
    const { capture, ...snapshot } = await world.snapshot('agent');
    assert.equal(capture.form, 'delta');
    await world.assertRestores(snapshot, DESCRIBE, expected);
  });
});

describe('a named workspace', () => {
  test('continues with deltas of the same base after it was started again', async () => {
    await using world = await World.start({ snapshotter: { vars: { INCREMENTAL: 'true' } }, disk: true });
    const workspace = world.workspace('work');
    const { sandboxId } = await workspace.create({});
    // The next snapshot over an overlay is full where a file with several names changes.
    const link = isProduction ? 'cp' : 'ln';
    await world.exec(sandboxId, `(${LARGE}; cd /workspace; mkdir a; echo 0 >a/f; ${link} a/f g)`);
    // The directory itself of an overlay has another time after a start.
    const describe = DESCRIBE.replace('find .', isProduction ? 'find . -mindepth 1' : 'find .');
    const forms: unknown[] = [];
    for (let count = 1; count <= 3; count++) {
      const expected = await world.exec(sandboxId, describe);
      await workspace.stop();
      const [newest] = (await world.list(sandboxId)).snapshots;
      forms.push(newest?.form ?? 'full');
      await workspace.start();
      assert.equal(await world.exec(sandboxId, describe), expected);
      await world.exec(sandboxId, `(cd /workspace; echo ${count} >a/f; mkdir d${count}; touch d${count}/x)`);
    }
    assert.deepEqual(forms, ['full', 'delta', 'delta']);
  });
});
