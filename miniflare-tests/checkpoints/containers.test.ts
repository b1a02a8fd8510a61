// Checkpoints and containers: checkpoints end with their container, snapshots contain them, and no operation starts a container.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';

import { CallInterceptor, type Call } from '../workspaces/calls.ts';
import { until, World } from '../world.ts';
import { CheckpointDirectory } from './checkpoint-directory.ts';

const calls = new CallInterceptor();
let world: World;
let directory: CheckpointDirectory;

/** Returns whether a call runs a command on checkpoints. */
const isCheckpointCommand = ({ command }: Call) => command?.includes('refs/sandbox/snapshots/') ?? false;

beforeEach(async () => {
  calls.reset();
  world = await World.start({ onCall: calls.onCall });
  directory = new CheckpointDirectory(world, 'agent');
  await directory.exec('echo 1 > file; mkdir sub; cd sub; git init -q; echo 1 > s');
});
afterEach(() => world[Symbol.asyncDispose]());

test('checkpoint operations fail in a stopped sandbox, and do not start it', async () => {
  await new CheckpointDirectory(world, 'never').assertRefused('SANDBOX_NOT_RUNNING');
  await directory.create('s1');
  await world.sandbox('agent', 'destroy');
  await directory.assertRefused('SANDBOX_NOT_RUNNING');
  assert.deepEqual(world.running(), []);
});

test('checkpoint operations fail in a container that replaced the killed one, and change nothing in it', async () => {
  await directory.create('s1');
  const blocked = calls.block(isCheckpointCommand);
  const create = world.failure(directory.create('s2'));
  await blocked.reached;
  await world.kill('agent');
  blocked.release();
  await create;
  // A command of the application starts another container, which is empty.
  await until(() =>
    world.exec('agent', 'true').then(
      () => true,
      () => false,
    ),
  );
  await directory.assertRefused('SANDBOX_REPLACED');
  assert.equal(await world.exec('agent', 'ls -A /workspace'), '');
});

describe('a snapshot', () => {
  test('contains the checkpoints, which can be used in a restored sandbox', async () => {
    await directory.create('s1', { description: 'carried' });
    await directory.exec('echo 2 > file; echo 2 > sub/s');
    const { sandboxId } = (await world.restore(await world.snapshot('agent'))).ref;
    const restored = new CheckpointDirectory(world, sandboxId);
    assert.deepEqual(await restored.list(), await directory.list());
    assert.match((await restored.diff('s1')).diff, /^-1\n\+2$/m);
    await restored.create('s2');
    assert.deepEqual((await restored.restore('s1')).changed, ['file', 'sub/s']);
    assert.equal(await restored.exec('cat file sub/s'), '1\n1\n');
    assert.deepEqual([await restored.names(), await directory.names()], [['s2', 's1'], ['s1']]);
    assert.equal(await directory.exec('cat file sub/s'), '2\n2\n');
  });

  test('of a named workspace contains the checkpoints, which can be used after a start', async () => {
    const workspace = world.workspace('work');
    await workspace.create();
    await workspace.exec('echo 1 > file');
    const first = new CheckpointDirectory(world, await workspace.sandboxId());
    await first.create('s1');
    await workspace.exec('echo 2 > file');
    await workspace.stop();
    await first.assertRefused('SANDBOX_NOT_RUNNING');
    await workspace.start();
    const second = new CheckpointDirectory(world, await workspace.sandboxId());
    await second.restore('s1');
    assert.equal(await workspace.exec('cat file'), '1\n');
  });

  test('waits for a checkpoint restore in progress', async () => {
    await directory.create('s1');
    await directory.exec('echo 2 > file');
    const blocked = calls.block(isCheckpointCommand);
    const restore = directory.restore('s1');
    await blocked.reached;
    const snapshot = world.snapshot('agent');
    // This call returns after everything that a capture requests before it begins.
    await until(() =>
      world.failure(world.rpc('get', { sandboxId: 'agent', label: 'none' })).then(() => true),
    );
    blocked.release();
    await restore;
    await world.assertRestores(await snapshot, 'cat /workspace/file', '1\n');
  });
});

test('concurrent checkpoint operations run one after the other', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
  await Promise.all(names.map((name) => directory.create(name)));
  assert.deepEqual((await directory.names()).sort(), [...names].sort());
  await directory.exec('echo 2 > file');
  const restores = Promise.all(names.slice(10).map((name) => directory.restore(name)));
  const diffs = await Promise.all(names.slice(10).map((name) => directory.diff(name)));
  assert.ok(diffs.every(({ sizeBytes, diff }) => sizeBytes === 0 || diff.endsWith('-1\n+2\n')));
  const restored = (await restores).filter(({ changedCount }) => changedCount === 1);
  assert.equal(restored.length, 1, 'only the first restore changes a file');
  assert.equal(
    await directory.exec('cat file; ls -d .git/sandbox-snapshotter 2>/dev/null; git fsck --no-dangling'),
    '1\n',
  );
});

test('the lock files of an interrupted operation do not block later operations', async () => {
  await directory.create('s1');
  const files = await directory.files();
  // The files that a killed process leaves.
  await directory.exec(`mkdir -p .git/sandbox-snapshotter/git; echo x > .git/sandbox-snapshotter/index.lock
    touch .git/refs/sandbox/snapshots/s1.lock .git/refs/sandbox/before-restore.lock; echo 2 > file; rm -r sub/s`);
  await directory.restore('s1');
  await directory.create('s1');
  assert.equal(await directory.files(), files);
  assert.equal(
    await directory.exec('ls -d .git/sandbox-snapshotter 2>/dev/null; find .git -name "*.lock"'),
    '',
  );
});
