// An application's own class with the mixin.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';

import { until, World } from '../world.ts';

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
    const time: number | null = await world.sandbox('long', 'platformAlarmTime');
    return time === null ? null : Math.round((time - Date.now()) / 3600_000);
  };
  await world.sandbox('long', 'startContainer');
  await world.sandbox('long', 'setSleepAfter', '6h');
  assert.equal(await hoursToAlarm(), null);
  await world.sandbox('long', 'setSleepAfter', '7h');
  assert.equal(await hoursToAlarm(), 3);
  await world.sandbox('longer', 'configure', { keepAlive: true });
  await world.sandbox('longer', 'startContainer');
  assert.notEqual(await world.sandbox('longer', 'platformAlarmTime'), null);
});

const HOUR_MS = 3600_000;

const fire = (id: string) => world.sandbox(id, 'fire');

test('the alarm of the application runs beside that of the inactivity timeout', async () => {
  const id = await world.sandbox('alarms', 'startContainer');
  await world.sandbox('alarms', 'setSleepAfter', '10h');
  assert.equal(await world.sandbox('alarms', 'alarmTime'), null);
  const later = Date.now() + 5 * HOUR_MS;
  await world.sandbox('alarms', 'setAlarm', later);
  assert.equal(await world.sandbox('alarms', 'alarmTime'), later);
  const own = async () => (await world.sandbox('alarms', 'stored', 'sandbox-snapshotter:alarm'))?.own;
  assert.equal(Math.round(((await own()) - Date.now()) / HOUR_MS), 3);
  assert.equal(await world.sandbox('alarms', 'platformAlarmTime'), await own());

  // That of the inactivity timeout fires first, and is set again. The application is not called.
  await world.sandbox('alarms', 'store', 'sandbox-snapshotter:alarm', { own: 1, application: later });
  await fire('alarms');
  await until(async () => (await own()) > Date.now());
  assert.deepEqual(await world.sandbox('alarms', 'alarms'), []);
  assert.equal(await world.sandbox('alarms', 'alarmTime'), later);

  // That of the application fires, fails, and is repeated.
  await world.sandbox('alarms', 'setAlarm', Date.now(), 1);
  await until(async () => (await world.sandbox('alarms', 'alarms')).length === 2);
  assert.deepEqual(await world.sandbox('alarms', 'alarms'), [null, null]);
  await until(async () => (await world.sandbox('alarms', 'stored', 'failures')) === -1);
  assert.equal(await world.sandbox('alarms', 'alarmTime'), null);
  assert.ok((await own()) > Date.now());
  assert.equal(await world.sandbox('alarms', 'getContainerPlacementId'), id);

  // Without a container, the alarm is the application's only.
  await world.sandbox('alarms', 'setAlarm', later);
  await world.sandbox('alarms', 'destroy');
  await fire('alarms');
  await until(async () => (await own()) === undefined);
  assert.equal(await world.sandbox('alarms', 'alarmTime'), later);
  assert.equal(await world.sandbox('alarms', 'platformAlarmTime'), later);
});

test('a container without activity for longer than its timeout beyond 6 hours ends', async () => {
  await world.sandbox('inactive', 'setSleepAfter', '7h');
  await world.sandbox('inactive', 'startContainer');
  await world.sandbox('inactive', 'store', 'sandbox-snapshotter:activity', Date.now() - 6.5 * HOUR_MS);
  const state = await world.sandbox('inactive', 'getState');
  await fire('inactive');
  assert.deepEqual(await world.sandbox('inactive', 'getState'), state);
  await world.sandbox('inactive', 'store', 'sandbox-snapshotter:activity', Date.now() - 8 * HOUR_MS);
  await fire('inactive'); // Without activity since its start, it is as old as that.
  assert.deepEqual(await world.sandbox('inactive', 'getState'), state);
  const run = await world.sandbox('inactive', 'stored', 'sandbox-snapshotter:container');
  const older = { ...run, changedAt: Date.now() - 8 * HOUR_MS };
  await world.sandbox('inactive', 'store', 'sandbox-snapshotter:container', older);
  await fire('inactive');
  assert.equal((await world.sandbox('inactive', 'getState')).status, 'stopped');
  const object = await world.objectId('inactive');
  await until(() => !world.running().includes(object));
  assert.equal(await world.sandbox('inactive', 'stored', 'sandbox-snapshotter:alarm'), undefined);
});

test('a capture whose upload fails leaves nothing in the bucket', async () => {
  await world.exec('parts', 'head -c 40M /dev/urandom >file');
  const before = await world.objects();
  await world.sandbox('parts', 'store', 'failingPart', 3);
  const failed = await world.failure(world.backUp('parts'));
  assert.equal(failed.name, 'BackupTransferError');
  assert.match(failed.message, /R2 fails/);
  assert.deepEqual(await world.objects(), before);
  assert.equal(await world.sandbox('parts', 'stored', 'sandbox-snapshotter:capture'), undefined);
  const isLeft = () => world.exec('parts', 'ls -A /var/backups/sandbox-snapshotter');
  await until(async () => (await isLeft()) === ''); // Its process ends.
  const { code } = await world.failure(world.snapshot('parts'));
  assert.equal(code, 'BACKUP_INTERRUPTED');
  await world.sandbox('parts', 'store', 'failingPart', 0);
  const ref = await world.snapshot('parts');
  await world.assertRestores(ref, 'ls', 'file\n');
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

test('a container that is gone is replaced although the platform reports that it runs', async () => {
  assert.equal(await world.sandbox('gone', 'launchGone'), true);
  assert.equal((await world.sandbox('gone', 'getState')).status, 'stopped');
  const expectedContainer = crypto.randomUUID();
  const refused = await world.failure(world.backUp('gone', { expectedContainer }));
  assert.equal(refused.name, 'ContainerReplacedError');
  const id = await world.sandbox('gone', 'startContainer');
  assert.equal(await world.exec('gone', 'cat /run/sandbox-snapshotter.container'), `${id}\n`);
});

test('an object that ended after it stored an id, and before the start, has no container', async () => {
  const run = { id: crypto.randomUUID(), ready: false, changedAt: 1, tools: [] };
  await world.sandbox('unstarted', 'store', 'sandbox-snapshotter:container', run);
  await world.crash();
  const { status, lastChange, containerId } = await world.sandbox('unstarted', 'getState');
  assert.deepEqual([status, containerId], ['stopped', undefined]);
  assert.ok(lastChange > run.changedAt);
  const refused = await world.failure(world.backUp('unstarted', { expectedContainer: run.id }));
  assert.equal(refused.name, 'ContainerReplacedError');
  assert.equal(world.running().includes(await world.objectId('unstarted')), false);
  assert.notEqual(await world.sandbox('unstarted', 'startContainer'), run.id);
});
