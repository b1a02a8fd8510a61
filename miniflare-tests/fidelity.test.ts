// The fidelity of snapshots: a restore recreates everything in the directory. Trees are compared by their content.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { modeOfRun } from '../scripts/local.ts';
import { World } from './world.ts';

/** In production mode of the SDK 0.12, an archive is mounted below an overlay. In all other columns it is unpacked. */
const LOCAL = modeOfRun() !== 'production';

/**
 * Hashes names, kinds, modes, owners, times in whole seconds, link targets and contents of a tree; in local mode also which
 * files are hard links of each other, and the properties of the directory itself.
 */
const HASH = LOCAL
  ? 'tar --sort=name --format=gnu --numeric-owner -C /workspace -cf - . | sha256sum'
  : `cd /workspace && find . -mindepth 1 -print0 | LC_ALL=C sort -z |
      tar --null --no-recursion --hard-dereference --format=gnu --numeric-owner -T - -cf - | sha256sum`;

const UNUSUAL_NAMES = String.raw`
  printf 1 > ' blanks at the ends '; printf 2 > $'line\nbreak'; printf 3 > "it's \"quoted\""; printf 4 > '$(echo no)'
  printf 5 > -rf; printf 6 > '*'; printf 7 > 'back\slash'; printf 8 > 'äöü 文件 🗂'; printf 9 > $'not-utf8-\xff\xfe'
  printf 10 > .hidden; printf 11 > "$(printf 'x%.0s' $(seq 250))"; mkdir -p 'a dir/with/.deep/places'; : > 'a dir/empty file'
`;

const MODES = `
  echo '#!/bin/sh' > script; chmod 755 script; echo s > secret; chmod 600 secret; echo r > readonly; chmod 444 readonly
  mkdir private; chmod 700 private; echo t > timed; touch -d 2001-02-03T04:05:06 timed; chmod 4755 script
`;

const LINKS = `
  echo target > target; ln -s target link; ln -s /etc/passwd absolute; ln -s nowhere dangling; ln -s ../.. up
  mkdir dir; ln -s dir dirlink; ln target hardlink
`;

const TREES: Record<string, string> = {
  'files with unusual names': UNUSUAL_NAMES,
  'modes and times': MODES,
  'links of all kinds': LINKS,
  'empty directories': 'mkdir -p a/b/c d "e f"',
  'an empty directory': ':',
  'a git repository with work in progress': `
    git init -q -b main . && git config user.email a@b && git config user.name a && echo 1 > f && git add f
    git commit -q -m one && echo 2 >> f && git stash -q && echo 3 > staged && git add staged && echo 4 > untracked`,
  '10 000 small files': `
    for d in $(seq 100); do mkdir -p "dir $d/sub"; for f in $(seq 100); do echo "$d-$f" > "dir $d/sub/f $f"; done; done`,
  '100 MB of incompressible data': 'head -c 100000000 /dev/urandom > big',
};

describe('a snapshot', () => {
  let world: World;
  before(async () => {
    world = await World.start();
  });
  after(() => world[Symbol.asyncDispose]());

  for (const [index, [what, make]] of Object.entries(TREES).entries()) {
    test(`contains ${what}, and leaves the origin unchanged`, async () => {
      const origin = `origin-${index}`;
      await world.exec(origin, make);
      const expected = await world.exec(origin, HASH);
      const ref = await world.snapshot(origin);
      const { ref: restored } = await world.restore(ref);
      assert.equal(await world.exec(restored.sandboxId, HASH), expected, 'the copy is the same');
      assert.equal(await world.exec(origin, HASH), expected, 'the origin is the same');
      await Promise.all([origin, restored.sandboxId].map((id) => world.sandbox(id, 'destroy')));
    });
  }

  test('preserves times in whole seconds', async () => {
    await world.exec('times', 'mkdir dir; touch dir/file; touch -d "2001-02-03 04:05:06.789Z" dir/file dir');
    const { ref } = await world.restore(await world.snapshot('times'));
    assert.equal(
      await world.exec(ref.sandboxId, 'stat -c %.3Y dir dir/file'),
      '981173106.000\n981173106.000\n',
    );
  });

  const links = LOCAL
    ? 'preserves hard links'
    : 'restores hard links as separate files with the same content';
  test(links, async () => {
    await world.exec('links', 'echo 1 > one; ln one other');
    const { ref } = await world.restore(await world.snapshot('links'));
    const print = 'cat one other; stat -c %h one other; echo 2 >> one; cat other';
    assert.equal(await world.exec(ref.sandboxId, print), LOCAL ? '1\n1\n2\n2\n1\n2\n' : '1\n1\n1\n1\n1\n');
  });

  const root = LOCAL ? 'preserves the mode and the time' : 'preserves neither the mode nor the time';
  test(`${root} of the directory itself`, async () => {
    const dir = '/workspace/captured';
    await world.exec('itself', `mkdir ${dir}; : > ${dir}/file; chmod 750 ${dir}; touch -d @981173106 ${dir}`);
    const ref = await world.snapshot('itself', { dir });
    const { sandboxId } = (await world.restore(ref)).ref;
    const [mode, time] = (await world.exec(sandboxId, `stat -c '%a %Y' ${dir}`)).trim().split(' ');
    if (LOCAL) assert.deepEqual([mode, time], ['750', '981173106']);
    else assert.ok(mode === '755' && Number(time) > 981173106, `${mode} ${time}`);
  });

  test('contains no processes and no files outside the directory', async () => {
    await world.exec(
      'outside',
      'echo w > file; echo t > /tmp/file; export VARIABLE=set; sleep 1000 & echo started',
    );
    const { ref } = await world.restore(await world.snapshot('outside'));
    const probe = 'ls -I "session-*" /workspace /tmp; echo "$VARIABLE"; pgrep -c sleep || true';
    assert.equal(await world.exec(ref.sandboxId, probe), '/tmp:\n\n/workspace:\nfile\n\n0\n');
  });
});
