// Single files of a snapshot, written to a running sandbox.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import type { RestoredFiles, SnapshotRef } from '../client/src/index.ts';
import { World } from './world.ts';

const LARGE = 1_000_000;

let world: World;
let ref: SnapshotRef;
let origins = 0;
let origin: string;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());
beforeEach(async () => {
  origin = `origin-${++origins}`;
  await world.exec(
    origin,
    `mkdir -p src/deep; echo one > src/main.rs; head -c ${LARGE} /dev/urandom > src/deep/large; chmod 640 src/deep/large
    touch -d @1234567890 src/deep/large; sha256sum src/deep/large > /tmp/sum; touch empty; echo x > "it's \\$(odd)"`,
  );
  ref = await world.snapshot(origin);
});

const restore = (options: object): Promise<RestoredFiles> =>
  world.rpc('files/restore', { ref, to: origin, ...options });

describe('files of a snapshot', () => {
  test('are restored with their content, modes and times', async () => {
    await world.exec(origin, 'rm -r src empty');
    const paths = ['src/deep/large', 'empty', "it's $(odd)"];
    const { restored, skipped } = await restore({ paths });
    assert.deepEqual([restored, skipped], [paths.slice(0, 2), paths.slice(2)]);
    assert.equal(
      await world.exec(origin, 'sha256sum -c --quiet /tmp/sum; stat -c %a,%Y,%s src/deep/large'),
      `640,1234567890,${LARGE}\n`,
    );
    assert.equal(
      await world.exec(origin, 'ls -A . src src/deep'),
      ".:\nempty\nit's $(odd)\nsrc\n\nsrc:\ndeep\n\nsrc/deep:\nlarge\n",
    );
  });

  test('replace existing ones only on request', async () => {
    await world.exec(origin, 'echo newer > src/main.rs');
    assert.deepEqual((await restore({ paths: ['src/main.rs'] })).skipped, ['src/main.rs']);
    assert.equal(await world.exec(origin, 'cat src/main.rs'), 'newer\n');
    assert.deepEqual((await restore({ paths: ['src/main.rs'], overwrite: true })).restored, ['src/main.rs']);
    assert.equal(await world.exec(origin, 'cat src/main.rs'), 'one\n');
  });

  test('are those of a directory, with its links and directories, and their attributes', async () => {
    const make = [
      "ln -s 'main.rs $(odd)' src/link; touch -h -d @1234567890 src/link; ln -s /nowhere src/deep/dangling",
      "mkdir -m 700 src/empty; chmod 1777 src/deep; printf x > $'src/\\xff'; mkfifo src/pipe; ln -s $'\\xff' src/odd",
    ];
    await world.exec(origin, make.join('\n'));
    ref = await world.snapshot(origin);
    const list = `find src -mindepth 1 ! -name $'\\xff' ! -name pipe ! -name odd -printf '%P %y %m %l ' \\
      \\( -type d -printf '\\n' -o -printf '%Ts\\n' \\) | LC_ALL=C sort`;
    const before = await world.exec(origin, list);
    await world.exec(origin, 'rm -r src');
    const { restored, skipped, leftOut } = await restore({ paths: ['src'] });
    const written = ['src/deep/dangling', 'src/deep/large', 'src/empty', 'src/link', 'src/main.rs'];
    assert.deepEqual([restored.sort(), skipped], [written, []]);
    assert.deepEqual(leftOut?.sort(), ['src/odd', 'src/pipe', 'src/\ufffd']);
    assert.equal(await world.exec(origin, list), before);
    await world.exec(origin, 'sha256sum -c --quiet /tmp/sum');
    const again = await restore({ paths: ['src', 'src/empty'] });
    assert.deepEqual(
      [again.restored, again.skipped.sort()],
      [[], written.filter((path) => path !== 'src/empty')],
    );
  });

  test('are those of a directory with hundreds of files', async () => {
    await world.exec(
      origin,
      'for n in $(seq 300); do mkdir -p many/$((n % 7)); echo $n > many/$((n % 7))/$n; done',
    );
    ref = await world.snapshot(origin);
    const list = 'find many -type f -exec sha256sum {} + | LC_ALL=C sort';
    const before = await world.exec(origin, list);
    await world.exec(origin, 'rm -r many/[0-5]; echo newer > many/6/6');
    const { restored, skipped } = await restore({ paths: ['many'] });
    assert.deepEqual([restored.length + skipped.length, skipped.length], [300, 43]);
    await restore({ paths: ['many/6'], overwrite: true });
    assert.equal(await world.exec(origin, list), before);
  });

  test('are written in many parts', async () => {
    const sum = 'sha256sum big';
    await world.exec(origin, 'head -c 15000000 /dev/urandom > big');
    const before = await world.exec(origin, sum);
    ref = await world.snapshot(origin);
    await world.exec(origin, 'rm big');
    assert.deepEqual((await restore({ paths: ['big'] })).restored, ['big']);
    assert.equal(await world.exec(origin, sum), before);
    await world.exec(origin, 'rm big');
  });

  test('are in directories with the attributes of the snapshot', async () => {
    await world.exec(origin, 'chmod 711 src; chmod 700 src/deep');
    ref = await world.snapshot(origin);
    await world.exec(origin, 'rm -r src');
    assert.deepEqual((await restore({ paths: ['src/deep/large'] })).restored, ['src/deep/large']);
    assert.equal(await world.exec(origin, 'stat -c %a src src/deep'), '711\n700\n');
  });

  test('replace links, and are not written through them', async () => {
    await world.exec(origin, 'ln -s main.rs src/link');
    ref = await world.snapshot(origin);
    await world.exec(origin, 'ln -sf /nowhere src/link');
    assert.deepEqual((await restore({ paths: ['src/link'] })).skipped, ['src/link']);
    assert.deepEqual((await restore({ paths: ['src/link'], overwrite: true })).restored, ['src/link']);
    assert.equal(await world.exec(origin, 'readlink src/link; cat src/link'), 'main.rs\none\n');
  });

  test('do not follow symbolic links', async () => {
    await world.exec(origin, 'rm -r src; mkdir /tmp/outside; ln -s /tmp/outside src');
    const error = await world.failure(restore({ paths: ['src/main.rs'], overwrite: true }));
    assert.equal(error.code, 'NOT_A_DIRECTORY');
    await world.exec(
      origin,
      'rm src; mkdir src; echo safe > /tmp/outside/file; ln -s /tmp/outside/file src/main.rs',
    );
    assert.deepEqual((await restore({ paths: ['src/main.rs'] })).skipped, ['src/main.rs']);
    await restore({ paths: ['src/main.rs'], overwrite: true });
    assert.equal(await world.exec(origin, 'cat /tmp/outside/file src/main.rs'), 'safe\none\n');
  });

  test('do not replace a directory', async () => {
    await world.exec(origin, 'rm src/main.rs; mkdir src/main.rs');
    const error = await world.failure(restore({ paths: ['src/main.rs'], overwrite: true }));
    assert.equal(error.code, 'NOT_A_DIRECTORY');
  });

  test('are restored to another directory, and into a branch', async () => {
    const { sandboxId } = (await world.branch(ref)).ref;
    await world.exec(sandboxId, 'mkdir copies');
    const { dir } = await restore({ paths: ['src/main.rs'], to: sandboxId, dir: '/workspace/copies' });
    assert.equal(dir, '/workspace/copies');
    assert.equal(await world.exec(sandboxId, 'cat copies/src/main.rs'), 'one\n');
  });

  test('are not restored to a sandbox that is not running, which is not started', async () => {
    await world.kill(origin);
    const error = await world.failure(restore({ paths: ['src/main.rs'] }));
    assert.equal(error.code, 'SANDBOX_NOT_RUNNING');
    assert.ok(!world.running().includes(await world.objectId(origin)));
  });
});
