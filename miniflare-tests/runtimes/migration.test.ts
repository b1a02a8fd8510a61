// The rehearsal of a migration: workspaces of the SDK 0.12 with history continue in containers under the same names, and move
// back. The published class and the class of the client run in one deployment.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { Manifest, TakenSnapshot, WorkspaceRef } from '../../client/src/index.ts';
import { PUBLISHED_CLASS, until, type World } from '../world.ts';
import { exec, startBoth, type Runtime } from './both.ts';

const MAKE = `mkdir -p 'odd names' empty; echo first >file; ln -sf file link; ln -f file hard; chmod 700 empty
  printf 'a\\0b' >$'line\\nbreak'; head -c 3M /dev/urandom >big; touch -d @1700000123 file`;
const PRINT = 'tar --sort=name --format=gnu --numeric-owner --mtime=@0 -cf - . | sha256sum; stat -c %Y file';

let world: World;
before(async () => {
  world = await startBoth();
});
after(() => world[Symbol.asyncDispose]());

const skip = PUBLISHED_CLASS ? false : 'both runtimes need the published class';

/** Creates a workspace in the runtime of the SDK 0.12 with two snapshots, and leaves it active. */
async function withHistory(name: string): Promise<{ id: string; ids: string[]; tree: string }> {
  const workspace = world.workspace(name);
  const { sandboxId: id, runtime } = await workspace.create({
    runtime: 'sdk-0.12',
    env: { LEVEL: 'debug' },
    hooks: { afterStart: { command: 'date >/tmp/started' } },
  });
  assert.equal(runtime, 'sdk-0.12');
  await exec(world, 'sdk-0.12', id, MAKE);
  const first = await workspace.stop();
  await workspace.start();
  await exec(world, 'sdk-0.12', id, 'echo second >second');
  const second = await world.snapshot(id, { label: `${name}-labelled` });
  await exec(world, 'sdk-0.12', id, 'echo third >third');
  const tree = await exec(world, 'sdk-0.12', id, PRINT);
  return { id, ids: [first.lastSnapshot?.id ?? '', second.ref.snapshotId], tree };
}

/** Returns the ids of the snapshots of a sandbox, the oldest first. */
const snapshotIds = async (id: string) =>
  (await world.list(id)).snapshots.map(({ snapshotId }) => snapshotId).reverse();

async function migrate(name: string, runtime: Runtime) {
  const migrated = await world.rpc('workspaces/migrate', { name, runtime });
  assert.deepEqual([migrated.state, migrated.runtime, migrated.hadEnded], ['stopped', runtime, false]);
  return migrated;
}

describe('the migration of named workspaces', { skip }, () => {
  test('keeps names, ids, files, snapshots and refs, and they move back', async () => {
    const names = ['one', 'two'];
    for (const name of names) {
      const workspace = world.workspace(name);
      const { id, ids, tree } = await withHistory(name);
      const migrated = await migrate(name, 'container');
      assert.equal(migrated.sandboxId, id);
      assert.deepEqual(await snapshotIds(id), [...ids, migrated.lastSnapshot.id]);
      const started = await workspace.start();
      assert.deepEqual([started.sandboxId, started.how, started.runtime], [id, 'restored', 'container']);
      assert.equal(await exec(world, 'container', id, PRINT), tree);
      assert.equal(
        await exec(world, 'container', id, 'echo "$LEVEL"; test -f /tmp/started && echo ran'),
        'debug\nran\n',
      );

      await exec(world, 'container', id, 'echo fourth >fourth');
      const changed = await exec(world, 'container', id, PRINT);
      await migrate(name, 'sdk-0.12');
      assert.equal((await workspace.start()).how, 'restored');
      assert.equal(await exec(world, 'sdk-0.12', id, PRINT), changed);
      assert.equal((await snapshotIds(id)).length, 4);
      await migrate(name, 'container');
    }
    const { workspaces } = await world.rpc('workspaces/list', {});
    for (const { name, runtime } of workspaces.filter(({ name }: { name: string }) => names.includes(name)))
      assert.equal(runtime, 'container', name);
  });

  test('leaves no container of the former runtime', async () => {
    const { id } = await withHistory('alone');
    const former = await world.objectId(id);
    assert.ok(world.running().includes(former));
    await migrate('alone', 'container');
    assert.ok(!world.running().includes(former));
    await world.workspace('alone').start();
    assert.ok(!world.running().includes(former));
  });

  test('reverts to a snapshot of the other runtime', async () => {
    const { id, ids } = await withHistory('reverted');
    await migrate('reverted', 'container');
    const workspace = world.workspace('reverted');
    await workspace.update({ currentSnapshotId: ids[0] });
    const { sandboxId, runtime } = await workspace.start();
    assert.equal(runtime, 'container');
    assert.equal(
      await exec(world, 'container', sandboxId, 'cat file; ls second third 2>&1 | wc -l'),
      'first\n2\n',
    );
    assert.notEqual(sandboxId, id);
  });

  test('is completed after a crash of the Worker', async () => {
    const { id, tree } = await withHistory('crashed');
    const migration = world
      .rpc('workspaces/migrate', { name: 'crashed', runtime: 'container' })
      .catch(() => null);
    await until(async () => (await world.workspace('crashed').describe()).state !== 'active');
    await world.crash();
    await migration;
    await until(async () => {
      const migrated = world.rpc('workspaces/migrate', { name: 'crashed', runtime: 'container' });
      return (await migrated.catch(() => null))?.runtime === 'container';
    });
    const { sandboxId } = await world.workspace('crashed').start();
    assert.equal(await exec(world, 'container', sandboxId, PRINT), tree);
    assert.ok(
      sandboxId === id || (await world.workspace('crashed').describe()).formerSandboxIds.includes(id),
    );
  });

  test('is refused where the files can not be captured, and the workspace keeps running', async () => {
    const { sandboxId } = await world.workspace('unreadable').create({ runtime: 'sdk-0.12' });
    await exec(world, 'sdk-0.12', sandboxId, 'echo 1 >file; rm -rf /workspace; ln -s /tmp /workspace');
    const error = await world.failure(
      world.rpc('workspaces/migrate', { name: 'unreadable', runtime: 'container' }),
    );
    assert.equal(error.code, 'INVALID_DIRECTORY');
    const { state, runtime } = await world.workspace('unreadable').describe();
    assert.deepEqual([state, runtime], ['active', 'sdk-0.12']);
  });
});

describe('sandboxes without a name', { skip }, () => {
  let ref: TakenSnapshot;
  let tree: string;
  before(async () => {
    await exec(world, 'sdk-0.12', 'agent', MAKE);
    ref = await world.snapshot('agent', { runtime: 'sdk-0.12' });
    tree = await exec(world, 'sdk-0.12', 'agent', PRINT);
  });

  test('continue in the other runtime from a snapshot, and back', async () => {
    const restored: WorkspaceRef = await world.rpc('restore', { ref, runtime: 'container' });
    const { sandboxId } = restored.ref;
    assert.equal(await exec(world, 'container', sandboxId, PRINT), tree);
    const own = await world.snapshot(sandboxId);
    const back: WorkspaceRef = await world.rpc('branch', { ref: own, runtime: 'sdk-0.12' });
    assert.equal(await exec(world, 'sdk-0.12', back.ref.sandboxId, PRINT), tree);
    const manifest: Manifest = await world.rpc('manifest', { ref });
    assert.equal(manifest.derived.length, 1);
  });

  test('with one id in both runtimes are two containers', async () => {
    await exec(world, 'container', 'agent', 'echo other >file');
    for (const call of [world.rpc, world.http]) {
      const error = await world.failure(call('snapshot', { sandboxId: 'agent', runtime: 'container' }));
      assert.equal(error.code, 'RUNTIME_MISMATCH');
      assert.match(error.message, /container.*"agent" has the runtime sdk-0\.12/);
      assert.match(error.remediation ?? '', /workspaces\/migrate/);
    }
    const { status } = await world.fetch('/v1/snapshot', {
      body: JSON.stringify({ sandboxId: 'agent', runtime: 'container' }),
    });
    assert.equal(status, 409);
    await world.assertRestores(await world.snapshot('agent'), 'cat file', 'first\n');
  });

  test('are in the default runtime at their first use', async () => {
    await exec(world, 'container', 'new', 'echo 1 >file');
    const { ref } = await world.snapshot('new');
    const error = await world.failure(world.snapshot('new', { runtime: 'sdk-0.12' }));
    assert.equal(error.code, 'RUNTIME_MISMATCH');
    const restored: WorkspaceRef = await world.rpc('restore', {
      sandboxId: 'new',
      snapshotId: ref.snapshotId,
    });
    assert.equal(await exec(world, 'container', restored.ref.sandboxId, 'cat file'), '1\n');
  });
});

test('health lists the bindings with their runtimes', async () => {
  const { checks, ok } = await world.rpc('health', {});
  const { detail } = checks.find(({ name }: { name: string }) => name === 'sandboxes');
  assert.match(detail, /Sandbox \(sdk-0\.12\), SnapshotSandbox \(container, the default\)/);
  assert.equal(ok, true);
});
