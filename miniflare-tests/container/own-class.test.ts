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

test('an inactivity timeout beyond that of the platform is renewed by an alarm', async () => {
  const hoursToAlarm = async () => {
    const time: number | null = await world.sandbox('long', 'alarmTime');
    return time === null ? null : Math.round((time - Date.now()) / 3600_000);
  };
  await world.sandbox('long', 'startContainer');
  await world.sandbox('long', 'setSleepAfter', '6h');
  assert.equal(await hoursToAlarm(), null);
  await world.sandbox('long', 'setSleepAfter', '7h');
  assert.equal(await hoursToAlarm(), 3);
  await world.sandbox('longer', 'configure', { keepAlive: true });
  await world.sandbox('longer', 'startContainer');
  assert.notEqual(await world.sandbox('longer', 'alarmTime'), null);
});

test('an image without squashfs-tools is captured as an archive of tar', async () => {
  const make = `mkdir -p sub/build; echo 1 >sub/file; echo '*' >'[odd] name'; ln -s file sub/link; ln sub/file hard
    chmod 4750 sub/file; touch -d @1700000123 sub/file; touch a.o sub/b.o sub/build/x; head -c 20M /dev/urandom >big`;
  await world.exec('slim', make);
  const print = `stat -c '%a %h %Y %n' sub/file; readlink sub/link; cat '[odd] name'; sha256sum big; find . -name '*.o' -o -name x`;
  const expected = (await world.exec('slim', print)).replace(/(\.\/.*\n)+$/, '');
  const backup = await world.backUp('slim', { excludes: ['*.o', 'sub/build'] });
  assert.equal((backup as { format?: string }).format, 'tar+gzip');
  await world.sandbox('slim-2', 'restoreBackup', backup);
  assert.equal(await world.exec('slim-2', print), expected);
  const ref = await world.snapshot('slim');
  await world.assertRestores(ref, 'cat sub/link', '1\n');
});

test('a tool that the image lacks is named', async () => {
  await world.sandbox('full', 'launch', 'debian');
  const backup = await world.backUp('full');
  await world.exec('slim-3', 'echo 1 >file');
  const error = await world.failure(world.sandbox('slim-3', 'restoreBackup', backup));
  assert.equal(error.name, 'ToolMissingError');
  assert.match(error.message, /no unsquashfs\. Install squashfs-tools/);
  assert.equal(await world.exec('slim-3', 'ls'), 'file\n');
  const ignoring = await world.failure(world.backUp('slim-3', { gitignore: true }));
  assert.match(ignoring.message, /no git\. Install git/);
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
