// A class with two images: a workspace chooses one of them by its name.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';

import { World } from '../world.ts';

let world: World;
before(async () => {
  const config = fileURLToPath(new URL('../caller/with-two-images.toml', import.meta.url));
  const main = fileURLToPath(new URL('./two-images.ts', import.meta.url));
  world = await World.start({ sandboxesOf: 'application', mode: 'container', caller: { config, main } });
});
after(() => world[Symbol.asyncDispose]());

/** Returns the image of the running container. */
async function imageOf(id: string): Promise<string | undefined> {
  return (await world.sandbox(id, 'exec', 'true')).image;
}

test('the class starts the image that was configured, and refuses one that it does not have', async () => {
  await world.sandbox('own', 'configure', { image: 'python' });
  assert.equal(await imageOf('own'), 'debian:python');
  await world.sandbox('own', 'configure', { image: 'rust' });
  assert.equal((await world.sandbox('own', 'getState')).status, 'healthy');
  await world.sandbox('own', 'destroy');
  const error = (await world.failure(world.sandbox('own', 'startContainer'))) as Error;
  assert.match(error.message, /The class has no image rust\. Add it to \[\[containers\]\]\./);
  await world.sandbox('own', 'configure', { image: null });
  assert.equal(await imageOf('own'), 'debian:base');
});

test('each container of a workspace starts from its image, and a change takes effect at the next start', async () => {
  const workspace = world.workspace('notebook');
  const { sandboxId } = await workspace.create({ storage: 'both' });
  assert.equal(await imageOf(sandboxId), 'debian:base');
  await workspace.exec('echo 1 >file');
  const error = await world.failure(workspace.update({ image: 'rust' }));
  assert.equal(error.code, 'IMAGE_NOT_FOUND');
  assert.match(error.message, /has no image "rust"\. It has only "base", "python"\./);
  assert.equal((await workspace.update({ image: 'python' })).image, 'python');
  assert.equal(await imageOf(sandboxId), 'debian:base', 'the container runs on');
  await workspace.stop();
  const started = await workspace.start();
  assert.equal(started.restoredFrom?.storage, 'archive');
  assert.match(started.platformFallback ?? '', /the image of the sandbox is "debian:python"/);
  assert.ok(
    started.stale.some((change) => change.includes('image is "debian:python", and was "debian:base"')),
  );
  assert.equal(await workspace.exec('cat file'), '1\n');
  await world.kill(sandboxId);
  assert.equal(await imageOf(sandboxId), 'debian:python', 'another call started the container');
  await workspace.start();
  const { forks } = await workspace.fork({ newName: 'copy' });
  assert.equal(await imageOf(forks[0]!.value!.sandboxId), 'debian:python');
  await workspace.stop();
  assert.equal((await workspace.start()).restoredFrom?.storage, 'platform');
  assert.equal((await workspace.update({ image: null })).image, undefined);
  await workspace.stop();
  await workspace.start();
  assert.equal(await imageOf(sandboxId), 'debian:base');
});
