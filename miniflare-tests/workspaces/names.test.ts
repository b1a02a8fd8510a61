// Names and tenants, and the sources of new workspaces.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { World } from '../world.ts';
import { CallInterceptor, isArchiving } from './calls.ts';
import type { NamedWorkspace } from './named.ts';

const calls = new CallInterceptor();
let world: World;
let count = 0;
let source: NamedWorkspace;
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
  test('that is taken is refused, and its workspace stays unchanged', async () => {
    const before = await source.describe();
    const error = await world.failure(source.create());
    assert.deepEqual([error.code, error.kind], ['NAME_TAKEN', 'conflict']);
    await source.stop();
    assert.equal(await code(source.create()), 'NAME_TAKEN');
    await source.start();
    assert.equal((await source.describe()).sandboxId, before.sandboxId);
    assert.equal(await source.exec('cat file'), 'x\n');
  });

  test('that twenty concurrent calls request is given to one of them', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => world.workspace(name).create()),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'NAME_TAKEN');
  });

  test('requested again with the same idempotency key returns the same workspace', async () => {
    const [workspace, options] = [world.workspace(name), { idempotencyKey: 'key', env: { A: '1' } }];
    const [first, second] = [await workspace.create(options), await workspace.create(options)];
    assert.deepEqual([second.sandboxId, second.how], [first.sandboxId, 'running']);
    assert.equal(await code(workspace.create({ ...options, env: { A: '2' } })), 'IDEMPOTENCY_CONFLICT');
    assert.equal(await code(workspace.create({ idempotencyKey: 'other' })), 'NAME_TAKEN');
  });

  test('that twenty concurrent calls with the same idempotency key request has one workspace', async () => {
    const options = { idempotencyKey: 'key' };
    const made = await Promise.all(Array.from({ length: 20 }, () => world.workspace(name).create(options)));
    assert.equal(new Set(made.map(({ sandboxId }) => sandboxId)).size, 1);
  });

  test('is case-sensitive', async () => {
    const [lower, upper] = [world.workspace(`${name}-x`), world.workspace(`${name}-X`)];
    await lower.create();
    assert.equal(await code(upper.describe()), 'WORKSPACE_NOT_FOUND');
    await upper.create();
    assert.notEqual(await upper.sandboxId(), await lower.sandboxId());
  });

  test('may have all valid characters and lengths', async () => {
    const workspaces = ['_', 'A.b-c_d', '0'.repeat(63), 'ends-', 'a..b'].map((name) => world.workspace(name));
    const made = await Promise.all(workspaces.map((workspace) => workspace.create()));
    assert.deepEqual(
      made.map(({ sandboxId }) => sandboxId.slice(0, -11)),
      ['workspace', 'a-b-c-d', '0'.repeat(52), 'ends', 'a--b'],
    );
    for (const workspace of workspaces) assert.equal(await workspace.exec('pwd'), '/workspace\n');
    await Promise.all(workspaces.map((workspace) => workspace.delete()));
  });

  test('that does not exist is not found by any call', async () => {
    const missing = world.workspace(name);
    assert.equal(await code(missing.describe()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(missing.start()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(missing.stop()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(missing.fork()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(missing.update({ persistent: false })), 'WORKSPACE_NOT_FOUND');
    assert.equal((await missing.delete()).removed, false);
  });
});

describe('a workspace created from', () => {
  test('another workspace has its present files', async () => {
    const workspace = world.workspace(name);
    const { how } = await workspace.create({ sourceWorkspace: source.name });
    assert.deepEqual([how, calls.count(isArchiving)], ['restored', 1]);
    await source.exec('echo later > file');
    assert.equal(await workspace.exec('cat file'), 'x\n');
  });

  test('a stopped workspace has its last files, and the source stays stopped', async () => {
    const { lastSnapshot } = await source.stop();
    const { restoredFrom } = await world.workspace(name).create({ sourceWorkspace: source.name });
    assert.equal(restoredFrom?.snapshotId, lastSnapshot?.id);
    assert.equal(await source.state(), 'stopped');
  });

  test('a snapshot has its files, selected by its ref, its id or its label', async () => {
    const ref = await world.snapshot(await source.sandboxId(), { label: 'wanted' });
    await source.exec('echo later > file');
    const { snapshotId, originId: sandboxId } = ref.ref;
    const selections = [{ ref }, { sandboxId, snapshotId }, { sandboxId, label: 'wanted' }];
    for (const [index, sourceSnapshot] of selections.entries()) {
      const workspace = world.workspace(`${name}-${index}`);
      assert.equal((await workspace.create({ sourceSnapshot })).restoredFrom?.snapshotId, snapshotId);
      assert.equal(await workspace.exec('cat file'), 'x\n');
    }
  });

  test('a snapshot of a sandbox without a name has its files and its directory', async () => {
    await world.exec('plain', 'mkdir -p project; echo plain > project/file');
    const ref = await world.snapshot('plain', { dir: '/workspace/project' });
    const workspace = world.workspace(name);
    const { dir } = await workspace.create({ sourceSnapshot: { ref } });
    assert.equal(dir, '/workspace/project');
    assert.equal(await workspace.exec('cat project/file'), 'plain\n');
  });

  test('another one that is created from it at the same time fails in time', async () => {
    const [a, b] = [world.workspace(`${name}-a`), world.workspace(`${name}-b`)];
    const calls = [a.create({ sourceWorkspace: b.name }), b.create({ sourceWorkspace: a.name })];
    assert.deepEqual(await Promise.all(calls.map(code)), ['WORKSPACE_NOT_FOUND', 'WORKSPACE_NOT_FOUND']);
  });

  test('a missing source fails, and its name stays free', async () => {
    const sandboxId = await source.sandboxId();
    const invalidSources = [
      [{ sourceWorkspace: 'absent' }, 'WORKSPACE_NOT_FOUND'],
      [{ sourceWorkspace: name }, 'INVALID_ARGUMENT'],
      [{ sourceSnapshot: { sandboxId, snapshotId: 'snap-0000000000000000' } }, 'SNAPSHOT_NOT_FOUND'],
      [{ sourceSnapshot: { sandboxId, label: 'nothing' } }, 'SNAPSHOT_NOT_FOUND'],
      [{ sourceWorkspace: source.name, dir: '/tmp' }, 'INVALID_ARGUMENT'],
    ] as const;
    const running = world.running();
    for (const [options, expected] of invalidSources) {
      assert.equal(await code(world.workspace(name).create(options)), expected);
      assert.equal(await code(world.workspace(name).describe()), 'WORKSPACE_NOT_FOUND');
    }
    assert.deepEqual(world.running(), running);
  });
});

describe('another tenant', () => {
  let other: NamedWorkspace;
  beforeEach(() => {
    other = world.workspace(source.name, 'other');
  });

  test('cannot describe, start, stop, fork or delete workspaces of this tenant', async () => {
    assert.equal(await code(other.describe()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(other.start()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(other.stop()), 'WORKSPACE_NOT_FOUND');
    assert.equal(await code(other.fork()), 'WORKSPACE_NOT_FOUND');
    assert.equal((await other.delete()).removed, false);
    const { workspaces } = await world.rpc('workspaces/list', { tenant: 'other' });
    assert.deepEqual(workspaces, []);
    assert.equal(await source.exec('cat file'), 'x\n');
  });

  test('can use the same name for another workspace', async () => {
    await other.create();
    assert.equal(await other.exec('ls -A'), '');
    assert.notEqual(await other.sandboxId(), await source.sandboxId());
    await other.delete();
    assert.equal(await source.state(), 'active');
  });

  test('cannot create workspaces from workspaces and snapshots of this tenant', async () => {
    const ref = await world.snapshot(await source.sandboxId(), { label: 'wanted' });
    const { snapshotId, originId: sandboxId } = ref.ref;
    assert.equal(await code(other.create({ sourceWorkspace: 'source-1' })), 'WORKSPACE_NOT_FOUND');
    for (const sourceSnapshot of [{ ref }, { sandboxId, snapshotId }, { sandboxId, label: 'wanted' }]) {
      assert.equal(await code(other.create({ sourceSnapshot })), 'CROSS_LINEAGE');
      assert.equal(await code(other.getOrCreate({ sourceSnapshot })), 'CROSS_LINEAGE');
    }
  });

  test('cannot roll back to snapshots of this tenant', async () => {
    const { ref } = await world.snapshot(await source.sandboxId());
    await other.create();
    assert.equal(await code(other.update({ currentSnapshotId: ref.snapshotId })), 'SNAPSHOT_NOT_FOUND');
  });
});
