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

  test('are those of a directory, without its links', async () => {
    await world.exec(origin, "ln -s main.rs src/link; mkdir src/empty; printf x > $'src/\\xff'");
    ref = await world.snapshot(origin);
    await world.exec(origin, 'rm -r src');
    const { restored, skipped, leftOut } = await restore({ paths: ['src'] });
    assert.deepEqual([restored.sort(), skipped], [['src/deep/large', 'src/main.rs'], []]);
    assert.deepEqual(leftOut?.sort(), ['src/empty', 'src/link', 'src/\ufffd']);
    assert.equal(await world.exec(origin, 'sha256sum -c --quiet /tmp/sum; ls src'), 'deep\nmain.rs\n');
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
