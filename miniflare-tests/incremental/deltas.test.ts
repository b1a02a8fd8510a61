// Incremental snapshots, with the real programs: each change of a directory is in the delta, and a restore has the same files by
// content, type, mode, owner, time, links and extended attributes. In production mode, from a disk and from an overlay.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { CHANGES, given } from './changes.ts';
import { DESCRIBE, INCREMENTAL, isProduction } from './directory.ts';
import { TOKEN, World } from '../world.ts';
import type { Capture, SnapshotRef } from '../../client/src/index.ts';

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
}
