// Platform snapshots: of the class of the client over `ctx.container`, and as a storage of named workspaces.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';

import { World } from '../world.ts';

let world: World;

before(async () => {
  const config = fileURLToPath(new URL('../caller/with-images.toml', import.meta.url));
  world = await World.start({ sandboxesOf: 'application', mode: 'container', caller: { config } });
});
after(() => world[Symbol.asyncDispose]());

/** Returns the code of the error of a call, which must fail. */
async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  return ((await world.failure(call)) as { code?: string }).code;
}

describe('the class', () => {
  const install = 'echo 1 >file; mkdir -p /opt/tool; echo o >/opt/tool/o; echo r >/run/r';
  const print = 'cat file /opt/tool/o; ls /run/r 2>/dev/null || true';

  test('the only image of the class is started', async () => {
    await world.sandbox('plain', 'startContainer');
    assert.equal((await world.sandbox('plain', 'getState')).image, 'debian');
  });

  test('a container starts from a snapshot of another object, with another id and without /run', async () => {
    await world.exec('origin', install);
    const { image, lastChange } = await world.sandbox('origin', 'getState');
    assert.match(image, /./);
    const options = { name: 'first', expectedLastChange: lastChange };
    const { id, size } = await world.sandbox('origin', 'snapshotContainer', options);
    assert.ok(size > 0);
    const containerSnapshot = { id };
    const other = await world.sandbox('copy', 'startContainer', { containerSnapshot });
    assert.notEqual(other, (await world.sandbox('origin', 'getState')).containerId);
    assert.equal(await world.exec('copy', print), '1\no\n');
    assert.equal((await world.sandbox('copy', 'getState')).image, image);
    await world.exec('copy', 'echo 2 >file');
    await world.sandbox('copy', 'snapshotContainer');
    await world.sandbox('origin', 'destroy');
    await world.sandbox('origin', 'startContainer', { containerSnapshot });
    assert.equal(await world.exec('origin', print), '1\no\n');
  });

  test('a snapshot expects a running container, and starts none', async () => {
    assert.equal(await codeOf(world.sandbox('ended', 'snapshotContainer')), 'CONTAINER_REPLACED');
    await world.sandbox('ended', 'startContainer');
    const { lastChange } = await world.sandbox('ended', 'getState');
    await world.kill('ended');
    await world.sandbox('ended', 'startContainer');
    const stale = world.sandbox('ended', 'snapshotContainer', { expectedLastChange: lastChange });
    assert.equal(await codeOf(stale), 'CONTAINER_REPLACED');
  });

  test('a start from a snapshot that is gone fails, and the next start is not affected', async () => {
    const containerSnapshot = { id: 'never' };
    assert.equal(
      await codeOf(world.sandbox('gone', 'startContainer', { containerSnapshot })),
      'CONTAINER_UNAVAILABLE',
    );
    assert.equal((await world.sandbox('gone', 'getState')).status, 'stopped');
    assert.equal(await world.exec('gone', 'echo runs'), 'runs\n');
  });
});

describe('a workspace', () => {
  const install = 'echo 1 >file; mkdir -p /opt/tool; echo installed >/opt/tool/o';
  const print = 'cat file; cat /opt/tool/o 2>/dev/null || true';

  test('both storages: a start restores the whole disk, and the archive when the snapshot is gone', async () => {
    const workspace = world.workspace('both');
    await workspace.create({ storage: 'both' });
    await workspace.exec(install);
    const { platformSnapshot, lastSnapshot } = await workspace.stop();
    assert.equal(platformSnapshot?.archiveId, lastSnapshot?.id);
    assert.equal(await workspace.isRunning(), false);
    const first = await workspace.start();
    assert.deepEqual([first.how, first.restoredFrom?.storage], ['restored', 'platform']);
    assert.equal(first.restoredFrom?.snapshotId, lastSnapshot?.id);
    assert.equal(await workspace.exec(print), '1\ninstalled\n');
    await workspace.exec('echo 2 >file; mkdir dir; ln file dir/hard; chmod 751 dir');
    await workspace.stop();
    world.deletePlatformSnapshot(world.platformSnapshots().at(-1)!);
    const second = await workspace.start();
    assert.deepEqual([second.how, second.restoredFrom?.storage], ['restored', 'archive']);
    assert.match(second.platformFallback!, /./);
    assert.equal(await workspace.exec(`${print}; stat -c "%a %h" dir dir/hard`), '2\n751 2\n644 2\n');
    const logged = world.log.filter((line) => line.includes('"workspaces/start"')).slice(-2);
    const storages = logged.map((line) => JSON.parse(line).snapshotStorage);
    assert.deepEqual(storages, ['platform', 'archive'], 'the log has the storage of each start');
    const deleted = await workspace.delete();
    assert.ok(Date.parse(deleted.platformDataUntil!) > Date.now());
  });

  test('the platform alone: nothing is in R2, and a lost snapshot is no empty workspace', async () => {
    const before = await world.objects();
    const workspace = world.workspace('alone');
    assert.equal(await codeOf(workspace.create({ storage: 'platform' })), 'INVALID_ARGUMENT');
    await workspace.create({ storage: 'platform', durable: false });
    await workspace.exec(install);
    await workspace.stop();
    assert.deepEqual(await world.objects(), before);
    const started = await workspace.start();
    assert.equal(started.restoredFrom?.storage, 'platform');
    assert.equal(await workspace.exec(print), '1\ninstalled\n');
    await workspace.stop();
    world.deletePlatformSnapshot(world.platformSnapshots().at(-1)!);
    assert.notEqual(await codeOf(workspace.start()), undefined);
    assert.equal(await workspace.isRunning(), false);
    const empty = await workspace.start({ allowEmpty: true });
    assert.deepEqual([empty.how, await workspace.exec('ls')], ['empty', '']);
    await workspace.delete();
  });

  test('the first stop after a change of the storage also stores an archive, and the next one does not', async () => {
    const workspace = world.workspace('changed');
    await workspace.create();
    await workspace.exec(install);
    await workspace.update({ storage: 'platform', durable: false });
    const first = await workspace.stop();
    assert.equal(first.platformSnapshot?.archiveId, first.lastSnapshot!.id);
    assert.equal((await workspace.start()).restoredFrom?.storage, 'platform');
    assert.equal(await workspace.exec(print), '1\ninstalled\n');
    const second = await workspace.stop();
    assert.equal(second.platformSnapshot?.archiveId, undefined);
    await workspace.delete();
  });

  test('a fork of a stopped workspace starts from its platform snapshot', async () => {
    const workspace = world.workspace('source');
    await workspace.create({ storage: 'both' });
    await workspace.exec(install);
    await workspace.stop();
    const { forks } = await workspace.fork({ newName: 'fork', count: 2 });
    for (const { name, value } of forks) {
      assert.equal(value?.restoredFrom?.storage, 'platform');
      const fork = world.workspace(name);
      assert.equal(await fork.exec(print), '1\ninstalled\n');
      await fork.delete();
    }
    await workspace.delete();
  });
});
