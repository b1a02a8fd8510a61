// The main use with containers of a class over `ctx.container`: the built Worker, and the class of the client.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { CheckpointDirectory } from '../checkpoints/checkpoint-directory.ts';
import { World } from '../world.ts';

for (const sandboxesOf of ['snapshotter', 'application'] as const) {
  describe(`with the class in the ${sandboxesOf}'s Worker`, () => {
    let world: World;
    before(async () => {
      // The class stores archives through its own binding, regardless of the variable.
      const vars = { LOCAL_BUCKET: String(sandboxesOf === 'snapshotter') };
      world = await World.start({ sandboxesOf, mode: 'container', snapshotter: { vars } });
    });
    after(() => world[Symbol.asyncDispose]());

    test('a damaged sandbox is restored and branched from its snapshot', async () => {
      await world.exec('agent', 'mkdir src; echo good >src/file; ln -s file src/link; chmod 750 src');
      const ref = await world.snapshot('agent');
      const metadata = JSON.parse((await world.read(`backups/${ref.ref.backup.id}/meta.json`)) ?? '');
      assert.match(metadata.sha256, /^[0-9a-f]{64}$/);
      await world.exec('agent', 'rm -r src; echo bad >other');
      const print = 'stat -c "%a %n" src; cat src/link; ls';
      const expected = '750 src\ngood\nsrc\n';
      const restored = await world.restore(ref);
      assert.equal(await world.exec(restored.ref.sandboxId, print), expected);
      const branch = await world.branch(ref);
      assert.equal(await world.exec(branch.ref.sandboxId, print), expected);
      assert.equal(await world.exec('agent', 'ls'), 'other\n');
      const again = await world.snapshot(restored.ref.sandboxId);
      await world.assertRestores(again, print, expected);
    });

    test('the end of a container is known when the command that it ended is answered', async () => {
      const name = 'ended';
      const workspace = world.workspace(name);
      await workspace.create();
      await workspace.exec('echo saved >file');
      await world.snapshot(await workspace.sandboxId());
      for (let round = 1; round <= 5; round++) {
        const command = 'kill -TERM 1; sleep 60';
        assert.equal(
          (await world.failure(world.rpc('exec', { name, command }))).code,
          'OPERATION_INTERRUPTED',
        );
        assert.equal((await workspace.describe()).containerEnded, true, `round ${round}`);
        const { stdout, started } = await world.rpc('exec', { name, command: 'cat file' });
        assert.deepEqual([stdout, started.how], ['saved\n', 'restored'], `round ${round}`);
      }
      await workspace.delete();
    });

    test('a workspace keeps its files by name', async () => {
      const workspace = world.workspace('project');
      await workspace.create();
      await workspace.exec('echo 1 >file');
      const first = await workspace.sandboxId();
      await workspace.stop();
      assert.equal(await workspace.state(), 'stopped');
      assert.equal(await workspace.isRunning(), false);
      await workspace.start();
      assert.equal(await workspace.exec('cat file; echo 2 >>file'), '1\n');
      assert.equal(await workspace.sandboxId(), first);
      await workspace.stop();
      await workspace.start();
      assert.equal(await workspace.exec('cat file'), '1\n2\n');
      await workspace.delete();
    });

    test('a container that ended is refused, and not captured empty', async () => {
      await world.exec('ended', 'echo 1 >file');
      await world.snapshot('ended');
      await world.kill('ended');
      const { code } = await world.failure(world.snapshot('ended'));
      assert.equal(code, 'SANDBOX_NOT_RUNNING');
      assert.equal(await world.exec('ended', 'ls'), '');
      const replaced = await world.failure(world.snapshot('ended'));
      assert.equal(replaced.code, 'SANDBOX_REPLACED');
    });

    test('a checkpoint restores the files of a running sandbox', async () => {
      await world.exec('checked', 'echo 1 >file');
      const directory = new CheckpointDirectory(world, 'checked');
      await directory.create('first');
      await world.exec('checked', 'echo 2 >file; echo new >added');
      await directory.call('restore', { name: 'first' });
      assert.equal(await world.exec('checked', 'cat file; ls'), '1\nfile\n');
      assert.deepEqual((await directory.names()).includes('first'), true);
    });
  });
}
