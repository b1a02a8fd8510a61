// An application's own class with the mixin.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';

import { World } from '../world.ts';

let world: World;
before(async () => {
  const main = fileURLToPath(new URL('./own-class.ts', import.meta.url));
  world = await World.start({ sandboxesOf: 'application', mode: 'container', caller: { main } });
});
after(() => world[Symbol.asyncDispose]());

test('a container that the application started is captured, and continues', async () => {
  assert.equal(await world.sandbox('own', 'launch'), true);
  const id = await world.sandbox('own', 'startContainer');
  assert.deepEqual(await world.sandbox('own', 'labels'), { own: '1' });
  assert.equal(await world.exec('own', 'cat own; echo "$OWN"'), 'own\nof the class\n');
  const ref = await world.snapshot('own');
  assert.equal(await world.sandbox('own', 'getContainerPlacementId'), id);
  await world.assertRestores(ref, 'cat own', 'own\n');
});

test('a container that the mixin starts has the options of the class', async () => {
  const id = await world.sandbox('started', 'startContainer');
  assert.deepEqual(await world.sandbox('started', 'labels'), { own: '2', 'snapshotter-id': id });
});

test('a container that the application started again has another id', async () => {
  await world.sandbox('again', 'launch');
  const first = await world.sandbox('again', 'startContainer');
  await world.kill('again');
  await world.sandbox('again', 'launch');
  const second = await world.sandbox('again', 'startContainer');
  assert.notEqual(second, first);
  const options = { dir: '/workspace', expectedContainer: first };
  const { name } = await world.failure(world.sandbox('again', 'createBackup', options));
  assert.equal(name, 'ContainerReplacedError');
});
