// Which snapshots are deltas: those of a base that the container still has, if all changes can be in one.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { attribute } from './changes.ts';
import { DESCRIBE, INCREMENTAL, isProduction, LARGE } from './directory.ts';
import { World } from '../world.ts';

if (isProduction) {
  test('a snapshot over a mounted base is full where files have several names', async () => {
    await using world = await World.start(INCREMENTAL);
    for (const [index, change] of [
      'echo 2 >b',
      'mv a c',
      'rm a',
      'rm -r d',
      'mv d/a c; rm -r d',
      'ln f g',
    ].entries()) {
      const workspace = world.workspace(`work-${index}`);
      const { sandboxId } = await workspace.create({});
      await world.exec(sandboxId, `(${LARGE}; cd /workspace; mkdir d; echo 1 >a; ln a b; ln a d/a; echo >f)`);
      await workspace.stop();
      await workspace.start();
      await world.exec(sandboxId, `(cd /workspace; ${change})`);
      const { capture } = await world.snapshot(sandboxId);
      assert.deepEqual([capture.form, capture.reason], ['full', 'special'], change);
      await workspace.delete();
    }
  });

  test('a snapshot over a mounted base is full where a directory with extended attributes changed', async () => {
    await using world = await World.start(INCREMENTAL);
    const workspace = world.workspace('work');
    const { sandboxId } = await workspace.create({});
    await world.exec(sandboxId, `(${LARGE}; cd /workspace; mkdir other; ${attribute('./d/', 'old')})`);
    await workspace.stop();
    await workspace.start();
    await world.exec(sandboxId, 'touch /workspace/other/f');
    assert.equal((await world.snapshot(sandboxId)).capture.form, 'delta');
    await world.exec(sandboxId, '(cd /workspace; rmdir d; mkdir d)');
    const { capture, ...snapshot } = await world.snapshot(sandboxId);
    const count = `tar -C /workspace --format=posix --xattrs --xattrs-include='*' -cf - d | grep -a -c 'SCHILY.xattr' || :`;
    await world.assertRestores(snapshot, count, '0\n');
    assert.deepEqual([capture.form, capture.reason], ['full', 'attributes']);
  });
} else {
  describe('a snapshot is full', () => {
    let world: World;
    before(async () => {
      world = await World.start(INCREMENTAL);
    });
    after(() => world[Symbol.asyncDispose]());

    const cases: Record<string, { given?: string; change: string; reason: string }> = {
      'where a quarter of the bytes changed': {
        change: 'head -c 2000000 /dev/urandom >new',
        reason: 'large',
      },
      'with a name of 201 bytes': { change: ': >$(printf x%.0s $(seq 201))', reason: 'special' },
      'with a name that marks a deletion in an overlay': { change: ': >.wh.a', reason: 'special' },
      'with a FIFO': { change: 'mkfifo pipe', reason: 'special' },
      'with a symbolic link that has two names': { change: 'ln -s x a; ln a b', reason: 'special' },
      'without the inventory of its base': {
        change: 'rm /run/sandbox-snapshotter.base/inventory',
        reason: 'container',
      },
      'with a shortened inventory': {
        change: 'truncate -s -1 /run/sandbox-snapshotter.base/inventory',
        reason: 'inventory',
      },
      'with an inventory that lacks a record': {
        change: String.raw`perl -0 -i -pe 'undef $_ if m{large//}' /run/sandbox-snapshotter.base/inventory`,
        reason: 'inventory',
      },
    };
    for (const [index, [name, { given = ':', change, reason }]] of Object.entries(cases).entries()) {
      test(name, async () => {
        const id = `full-${index}`;
        await world.exec(id, `(${LARGE}; cd /workspace; ${given})`);
        await world.snapshot(id);
        await world.exec(id, `(cd /workspace; ${change})`);
        const { capture, ...snapshot } = await world.snapshot(id);
        assert.deepEqual([capture.form, capture.reason], ['full', reason]);
        const { sandboxId } = (await world.restore(snapshot)).ref;
        const names = 'ls /workspace';
        assert.equal(await world.exec(sandboxId, names), await world.exec(id, names));
        await world.sandbox(sandboxId, 'destroy');
      });
    }

    test('on a file system that may not record all changes', async () => {
      await using memory = await World.start({ snapshotter: { vars: { INCREMENTAL: 'true' } } });
      await memory.exec('agent', LARGE);
      await memory.snapshot('agent');
      assert.equal((await memory.snapshot('agent')).capture.reason, 'fileSystem');
    });
  });
}

describe('files that change during a capture', () => {
  test('of the base are in the next delta', async () => {
    let during: (() => Promise<unknown>) | undefined;
    await using world = await World.start({
      snapshotter: { vars: { INCREMENTAL: 'true' } },
      disk: true,
      onCall: async ({ method, command = '' }) => {
        const isArchive =
          method === 'container.exec'
            ? command.includes('mksquashfs "$d"')
            : method === 'backup.createArchive';
        if (!isArchive || !during) return;
        const run = during;
        during = undefined;
        await run();
      },
    });
    await world.exec('agent', `(${LARGE}; cd /workspace; mkdir -p a/b; echo 1 >a/b/f; echo 2 >g)`);
    // The archive has the renamed directory, and the inventory the former one.
    during = () => world.exec('agent', '(cd /workspace; mv a moved; echo 3 >g; echo 4 >temporary)');
    await world.snapshot('agent');
    await world.exec('agent', '(cd /workspace; mv moved a; rm temporary)');
    const expected = await world.exec('agent', DESCRIBE);
    const { capture, ...snapshot } = await world.snapshot('agent');
    assert.equal(capture.form, 'delta');
    await world.assertRestores(snapshot, DESCRIBE, expected);
  });
});

describe('a named workspace', () => {
  test('continues with deltas of the same base after it was started again', async () => {
    await using world = await World.start(INCREMENTAL);
    const workspace = world.workspace('work');
    const { sandboxId } = await workspace.create({});
    // The next snapshot over an overlay is full where a file with several names changes.
    const link = isProduction ? 'cp' : 'ln';
    await world.exec(sandboxId, `(${LARGE}; cd /workspace; mkdir a; echo 0 >a/f; ${link} a/f g)`);
    // The directory itself of an overlay has another time after a start.
    const describe = DESCRIBE.replace('find .', isProduction ? 'find . -mindepth 1' : 'find .');
    const forms: unknown[] = [];
    for (let count = 1; count <= 3; count++) {
      const expected = await world.exec(sandboxId, describe);
      await workspace.stop();
      const [newest] = (await world.list(sandboxId)).snapshots;
      forms.push(newest?.form ?? 'full');
      await workspace.start();
      assert.equal(await world.exec(sandboxId, describe), expected);
      await world.exec(sandboxId, `(cd /workspace; echo ${count} >a/f; mkdir d${count}; touch d${count}/x)`);
    }
    assert.deepEqual(forms, ['full', 'delta', 'delta']);
  });
});
