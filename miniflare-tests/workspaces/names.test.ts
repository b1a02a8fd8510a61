// Whose names are whose, and what a workspace can begin with.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { Calls, isArchiving } from './calls.ts';
import type { Named } from './named.ts';

const calls = new Calls();
let world: World;
let count = 0;
let source: Named;
let name: string;

before(async () => {
  world = await World.start({ onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  calls.reset();
  name = `new-${++count}`;
  source = world.workspace(`source-${count}`);
  await source.create();
  await source.exec('echo x > file');
});

const code = async (call: Promise<unknown>) => (await world.failure(call)).code;

describe('a name', () => {
  test('that is taken is refused, and what has it stays as it is', async () => {
    const before = await source.describe();
    const error = await world.failure(source.create());
    assert.deepEqual([error.code, error.kind], ['NAME_TAKEN', 'conflict']);
    await source.stop();
    assert.equal(await code(source.create()), 'NAME_TAKEN');
    await source.start();
    assert.equal((await source.describe()).sandboxId, before.sandboxId);
    assert.equal(await source.exec('cat file'), 'x\n');
  });

  test('that is asked for by twenty callers is somebody’s', async () => {
    const made = await Promise.allSettled(Array.from({ length: 20 }, () => world.workspace(name).create()));
    assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const one of made) if (one.status === 'rejected') assert.equal(one.reason.code, 'NAME_TAKEN');
  });

  test('that is asked for again with the same idempotency key is the same workspace’s', async () => {
    const [workspace, options] = [world.workspace(name), { idempotencyKey: 'key', env: { A: '1' } }];
    const [first, second] = [await workspace.create(options), await workspace.create(options)];
    assert.deepEqual([second.sandboxId, second.how], [first.sandboxId, 'running']);
    assert.equal(await code(workspace.create({ ...options, env: { A: '2' } })), 'IDEMPOTENCY_CONFLICT');
    assert.equal(await code(workspace.create({ idempotencyKey: 'other' })), 'NAME_TAKEN');
  });

  test('that is asked for by twenty callers with the same idempotency key is one workspace’s', async () => {
    const options = { idempotencyKey: 'key' };
    const made = await Promise.all(Array.from({ length: 20 }, () => world.workspace(name).create(options)));
    assert.equal(new Set(made.map(({ sandboxId }) => sandboxId)).size, 1);
  });

  test('is found by its letters as they are', async () => {
    const [lower, upper] = [world.workspace(`${name}-x`), world.workspace(`${name}-X`)];
    await lower.create();
    assert.equal(await code(upper.describe()), 'WORKSPACE_NOT_FOUND');
    await upper.create();
    assert.notEqual(await upper.sandboxId(), await lower.sandboxId());
  });

  test('may have everything that a name can have', async () => {
    const odd = ['_', 'A.b-c_d', '0'.repeat(63), 'ends-', 'a..b'].map((name) => world.workspace(name));
    const made = await Promise.all(odd.map((workspace) => workspace.create()));
    assert.deepEqual(
      made.map(({ sandboxId }) => sandboxId.slice(0, -11)),
      ['workspace', 'a-b-c-d', '0'.repeat(52), 'ends', 'a--b'],
    );
    for (const workspace of odd) assert.equal(await workspace.exec('pwd'), '/workspace\n');
    await Promise.all(odd.map((workspace) => workspace.delete()));
  });

  test('that nobody has is not found, by any call', async () => {
    const nobody = world.workspace(name);
    assert.equal(await code(nobody.describe()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(nobody.start()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(nobody.stop()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(nobody.fork()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(nobody.update({ persistent: false })), 'WORKSPACE_NOT_FOUND');
    assert.equal((await nobody.delete()).removed, false);
  });
});

describe('a workspace that begins with', () => {
  test('another workspace has its present files', async () => {
    const workspace = world.workspace(name);
    const { how } = await workspace.create({ sourceWorkspace: source.name });
    assert.deepEqual([how, calls.count(isArchiving)], ['restored', 1]);
    await source.exec('echo later > file');
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });

  test('another workspace that is stopped has its last files, and that stays stopped', async () => {
    const { lastSnapshot } = await source.stop();
    const { restoredFrom } = await world.workspace(name).create({ sourceWorkspace: source.name });
    assert.equal(restoredFrom, lastSnapshot?.id);
    assert.equal(await source.state(), 'stopped');
  });

  test('a snapshot has its files, by its ref, its id or its label', async () => {
    const ref = await world.snapshot(await source.sandboxId(), { label: 'wanted' });
    await source.exec('echo later > file');
    const { snapshotId, originId: sandboxId } = ref.ref;
    const selections = [{ ref }, { sandboxId, snapshotId }, { sandboxId, label: 'wanted' }];
    for (const [index, sourceSnapshot] of selections.entries()) {
      const workspace = world.workspace(`${name}-${index}`);
      assert.equal((await workspace.create({ sourceSnapshot })).restoredFrom, snapshotId);
      assert.equal(await workspace.exec('cat file'), 'x\n');
    }
  });

  test('a snapshot of a sandbox without a name has its files, and its directory', async () => {
    await world.exec('plain', 'mkdir -p project; echo plain > project/file');
    const ref = await world.snapshot('plain', { dir: '/workspace/project' });
    const workspace = world.workspace(name);
    const { dir } = await workspace.create({ sourceSnapshot: { ref } });
    assert.equal(dir, '/workspace/project');
    assert.equal(await workspace.exec('cat project/file'), 'plain\n');
  });

  test('each other is not made, and nobody waits for that for ever', async () => {
    const [a, b] = [world.workspace(`${name}-a`), world.workspace(`${name}-b`)];
    const calls = [a.create({ sourceWorkspace: b.name }), b.create({ sourceWorkspace: a.name })];
    assert.deepEqual(await Promise.all(calls.map(code)), ['WORKSPACE_NOT_FOUND', 'WORKSPACE_NOT_FOUND']);
  });

  test('what is not there is not made, and the name stays free', async () => {
    const sandboxId = await source.sandboxId();
    const missing = [
      [{ sourceWorkspace: 'nobody' }, 'WORKSPACE_NOT_FOUND'],
      [{ sourceWorkspace: name }, 'INVALID_ARGUMENT'],
      [{ sourceSnapshot: { sandboxId, snapshotId: 'snap-0000000000000000' } }, 'SNAPSHOT_NOT_FOUND'],
      [{ sourceSnapshot: { sandboxId, label: 'nothing' } }, 'SNAPSHOT_NOT_FOUND'],
      [{ sourceWorkspace: source.name, dir: '/tmp' }, 'INVALID_ARGUMENT'],
    ] as const;
    const running = world.running();
    for (const [options, expected] of missing) {
      assert.equal(await code(world.workspace(name).create(options)), expected);
      assert.equal(await code(world.workspace(name).describe()), 'WORKSPACE_NOT_FOUND');
    }
    assert.deepEqual(world.running(), running);
  });
});

describe('another tenant', () => {
  let theirs: Named;
  beforeEach(() => {
    theirs = world.workspace(source.name, 'other');
  });

  test('sees, starts, stops, forks and deletes nothing of this one’s', async () => {
    assert.equal(await code(theirs.describe()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(theirs.start()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(theirs.stop()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(theirs.fork()), 'WORKSPACE_NOT_FOUND');
    assert.equal((await theirs.delete()).removed, false);
    const { workspaces } = await world.rpc('workspaces/list', { tenant: 'other' });
    assert.deepEqual(workspaces, []);
    assert.equal(await source.exec('cat file'), 'x\n');
  });

  test('has the same name for something else', async () => {
    await theirs.create();
    assert.equal(await theirs.exec('ls -A'), '');
    assert.notEqual(await theirs.sandboxId(), await source.sandboxId());
    await theirs.delete();
    assert.equal(await source.state(), 'active');
  });

  test('makes nothing from this one’s workspaces and snapshots', async () => {
    const ref = await world.snapshot(await source.sandboxId(), { label: 'wanted' });
    const { snapshotId, originId: sandboxId } = ref.ref;
    assert.equal(await code(theirs.create({ sourceWorkspace: 'source-1' })), 'WORKSPACE_NOT_FOUND');
    for (const sourceSnapshot of [{ ref }, { sandboxId, snapshotId }, { sandboxId, label: 'wanted' }]) {
      assert.equal(await code(theirs.create({ sourceSnapshot })), 'CROSS_LINEAGE');
      assert.equal(await code(theirs.getOrCreate({ sourceSnapshot })), 'CROSS_LINEAGE');
    }
  });

  test('does not go back to this one’s snapshots', async () => {
    const { ref } = await world.snapshot(await source.sandboxId());
    await theirs.create();
    assert.equal(await code(theirs.update({ currentSnapshotId: ref.snapshotId })), 'SNAPSHOT_NOT_FOUND');
  });
});
