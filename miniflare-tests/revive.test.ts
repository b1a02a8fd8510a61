// A sandbox whose container ended gets its newest snapshot again, under its own id.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { isUnpacking, until, World } from './world.ts';
import { CallInterceptor } from './workspaces/calls.ts';

const calls = new CallInterceptor();
let world: World;

before(async () => {
  world = await World.start({ onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

/** Captures a sandbox with a file, and writes another file that no snapshot has. */
async function captured(id: string) {
  await world.exec(id, 'echo saved > file');
  const taken = await world.snapshot(id);
  await world.exec(id, 'echo new > new');
  return taken;
}

/** Runs a command as an application does, which cold-starts the sandbox. */
async function coldStart(id: string, command: string) {
  await world.kill(id);
  // The command can be retried while the SDK still handles the end of the container.
  await until(() =>
    world.exec(id, command).then(
      () => true,
      () => false,
    ),
  );
}

test('a sandbox that slept is revived once for twenty commands, and is captured as before', async () => {
  const taken = await captured('slept');
  assert.equal((await world.rpc('revive', { sandboxId: 'slept' })).how, 'running');
  assert.equal(await world.exec('slept', 'cat new'), 'new\n');

  await world.sleep('slept');
  calls.reset();
  const exec = (index: number) =>
    world.rpc('exec', { sandboxId: 'slept', command: `cat file; ls; echo ${index}`, revive: true });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => exec(index)));
  answers.forEach(({ stdout }, index) => assert.equal(stdout, `saved\nfile\n${index}\n`));
  const revived = answers.filter(({ started }) => started?.how === 'restored');
  assert.ok(revived.length > 0);
  for (const { started } of revived)
    assert.deepEqual([started.restoredFrom.snapshotId, started.mayHaveLost], [taken.ref.snapshotId, true]);
  assert.equal(calls.count(isUnpacking), 1);

  await world.exec('slept', 'echo later > file');
  const next = await world.snapshot('slept');
  assert.ok(!next.capture.rescue);
  await world.assertRestores(next, 'cat file', 'later\n');
});

test('files that were written since a cold start are kept, or saved before the restore', async () => {
  await captured('diverged');
  await coldStart('diverged', 'echo since > since');
  const error = await world.failure(world.rpc('revive', { sandboxId: 'diverged' }));
  assert.equal(error.code, 'WORKSPACE_DIVERGED', error.message);
  assert.equal(await world.exec('diverged', 'ls'), 'since\n');

  const options = { sandboxId: 'diverged', onDiverged: 'rescue' };
  const { how, rescueSnapshotId } = await world.rpc('revive', options);
  assert.deepEqual([how, await world.exec('diverged', 'cat file; ls')], ['restored', 'saved\nfile\n']);
  const rescued = await world.rpc('restore', { sandboxId: 'diverged', snapshotId: rescueSnapshotId });
  assert.equal(await world.exec(rescued.ref.sandboxId, 'ls'), 'since\n');
});

test('a sandbox without a snapshot gets that from which it was made', async () => {
  const taken = await captured('parent');
  const { sandboxId } = (await world.restore(taken)).ref;
  await world.kill(sandboxId);
  const { restoredFrom } = await world.rpc('revive', { sandboxId });
  assert.equal(restoredFrom.snapshotId, taken.ref.snapshotId);
  assert.equal(await world.exec(sandboxId, 'cat file'), 'saved\n');
});
