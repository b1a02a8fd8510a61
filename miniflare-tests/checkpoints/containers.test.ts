// Checkpoints and the container that they are in: they go with it, travel in snapshots, and no call starts another one.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';

import { Calls, type Call } from '../workspaces/calls.ts';
import { until, World } from '../world.ts';
import { Place } from './place.ts';

const calls = new Calls();
let world: World;
let place: Place;

/** A command that works on checkpoints. */
const isWork = ({ command }: Call) => command?.includes('refs/sandbox/snapshots/') ?? false;

beforeEach(async () => {
  calls.reset();
  world = await World.start({ onCall: calls.onCall });
  place = new Place(world, 'agent');
  await place.exec('echo 1 > file; mkdir sub; cd sub; git init -q; echo 1 > s');
});
afterEach(() => world[Symbol.asyncDispose]());

test('a sandbox that does not run is refused, and not started', async () => {
  await new Place(world, 'never').refused('SANDBOX_NOT_RUNNING');
  await place.create('s1');
  await world.sandbox('agent', 'destroy');
  await place.refused('SANDBOX_NOT_RUNNING');
  assert.deepEqual(world.running(), []);
});

test('a container that died is not taken for its successor, in which nothing is done', async () => {
  await place.create('s1');
  const held = calls.hold(isWork);
  const create = world.failure(place.create('s2'));
  await held.reached;
  await world.kill('agent');
  held.release();
  await create;
  // Somebody starts another one, which is empty.
  await until(() =>
    world.exec('agent', 'true').then(
      () => true,
      () => false,
    ),
  );
  await place.refused('SANDBOX_REPLACED');
  assert.equal(await world.exec('agent', 'ls -A /workspace'), '');
});

describe('a durable snapshot', () => {
  test('carries checkpoints along, and they are used in the sandbox that is made from it', async () => {
    await place.create('s1', { description: 'carried' });
    await place.exec('echo 2 > file; echo 2 > sub/s');
    const { sandboxId } = (await world.restore(await world.snapshot('agent'))).ref;
    const restored = new Place(world, sandboxId);
    assert.deepEqual(await restored.list(), await place.list());
    assert.match((await restored.diff('s1')).diff, /^-1\n\+2$/m);
    await restored.create('s2');
    assert.deepEqual((await restored.restore('s1')).changed, ['file', 'sub/s']);
    assert.equal(await restored.exec('cat file sub/s'), '1\n1\n');
    assert.deepEqual([await restored.names(), await place.names()], [['s2', 's1'], ['s1']]);
    assert.equal(await place.exec('cat file sub/s'), '2\n2\n');
  });

  test('of a workspace with a name does too, and the workspace goes on with them', async () => {
    const workspace = world.workspace('work');
    await workspace.create();
    await workspace.exec('echo 1 > file');
    const first = new Place(world, await workspace.sandboxId());
    await first.create('s1');
    await workspace.exec('echo 2 > file');
    await workspace.stop();
    await first.refused('SANDBOX_NOT_RUNNING');
    await workspace.start();
    const second = new Place(world, await workspace.sandboxId());
    await second.restore('s1');
    assert.equal(await workspace.exec('cat file'), '1\n');
  });

  test('waits for a restore that is under way', async () => {
    await place.create('s1');
    await place.exec('echo 2 > file');
    const held = calls.hold(isWork);
    const restore = place.restore('s1');
    await held.reached;
    const snapshot = world.snapshot('agent');
    // Its own look comes behind everything that a capture asks before it may begin.
    await until(() =>
      world.failure(world.rpc('get', { sandboxId: 'agent', label: 'none' })).then(() => true),
    );
    held.release();
    await restore;
    await world.restores(await snapshot, 'cat /workspace/file', '1\n');
  });
});

test('calls at the same time are done one after the other', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
  await Promise.all(names.map((name) => place.create(name)));
  assert.deepEqual((await place.names()).sort(), [...names].sort());
  await place.exec('echo 2 > file');
  const restores = Promise.all(names.slice(10).map((name) => place.restore(name)));
  const diffs = await Promise.all(names.slice(10).map((name) => place.diff(name)));
  assert.ok(diffs.every(({ sizeBytes, diff }) => sizeBytes === 0 || diff.endsWith('-1\n+2\n')));
  const restored = (await restores).filter(({ changedCount }) => changedCount === 1);
  assert.equal(restored.length, 1, 'only the first has anything to do');
  assert.equal(
    await place.exec('cat file; ls -d .git/sandbox-snapshotter 2>/dev/null; git fsck --no-dangling'),
    '1\n',
  );
});

test('what is left of a call that was cut off holds nobody up', async () => {
  await place.create('s1');
  const files = await place.files();
  // It stops in the midst of its work, as when its process is killed.
  await place.exec(`mkdir -p .git/sandbox-snapshotter/git; echo x > .git/sandbox-snapshotter/index.lock
    touch .git/refs/sandbox/snapshots/s1.lock .git/refs/sandbox/before-restore.lock; echo 2 > file; rm -r sub/s`);
  await place.restore('s1');
  await place.create('s1');
  assert.equal(await place.files(), files);
  assert.equal(await place.exec('ls -d .git/sandbox-snapshotter 2>/dev/null; find .git -name "*.lock"'), '');
});
