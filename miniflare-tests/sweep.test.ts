// Sweeping the bucket: what was made here and belongs to no ledger goes; nothing else does.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';

import { until, World } from './world.ts';
import type { SnapshotRef, Sweep } from '../client/src/index.ts';

let world: World;
let owners = 0;
let owner: string;
let ref: SnapshotRef;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

/** The bucket has one snapshot of one sandbox. */
beforeEach(async () => {
  await world.all((await world.objects()).map((key) => ({ do: 'delete', key })));
  owner = `owner-${++owners}`;
  await world.exec(owner, 'echo x > file');
  ref = await world.snapshot(owner);
});

/** The id of a snapshot that was not made here. */
const FOREIGN = 'snap-0000000000000000';

const markOf = (snapshotId: string, sandboxId: string) => `snapshotter/1 ${snapshotId} ${sandboxId}`;

/** A backup in the bucket that the snapshotter did not make, with this name. Its keys. */
async function backup(name: string | undefined): Promise<string[]> {
  const { id } = await world.backUp(owner, name === undefined ? {} : { name });
  return [`backups/${id}/data.sqsh`, `backups/${id}/meta.json`];
}

/** The id of a snapshot of a sandbox that was made here and is deleted. */
async function deleted(sandboxId: string): Promise<string> {
  const gone = await world.snapshot(sandboxId);
  await world.rpc('delete', { ref: gone });
  return gone.ref.snapshotId;
}

const sweep = (options: object = {}): Promise<Sweep> => world.rpc('sweep', { graceSeconds: 0, ...options });

const COUNTS = {
  scanned: 1,
  tooRecent: 0,
  unmarked: 0,
  owned: 1,
  deleted: 0,
  failed: 0,
  unowned: 0,
  unownedObjects: [] as object[],
  dryRun: false,
};

test('what a ledger owns stays', async () => {
  assert.deepEqual(await sweep(), COUNTS);
  await world.restores(ref, 'cat file', 'x\n');
});

describe('what was made here and belongs to no ledger', () => {
  for (const [what, mark] of Object.entries({
    'of a snapshot that was deleted': async () => markOf(await deleted(owner), owner),
    'that names a snapshot of another backup': async () => markOf(ref.ref.snapshotId, owner),
  })) {
    test(`goes: a backup ${what}`, async () => {
      const objects = await world.objects();
      await backup(await mark());
      assert.deepEqual(await sweep(), { ...COUNTS, scanned: 2, deleted: 1 });
      assert.deepEqual(await world.objects(), objects);
      assert.deepEqual(await sweep(), COUNTS);
    });
  }

  test('goes over HTTP too', async () => {
    await world.orphan(ref);
    assert.equal((await world.http('sweep', { graceSeconds: 0 })).deleted, 1);
  });

  test('goes when it was made from the ledger, deleted there, and came back', async () => {
    const objects = await world.objects();
    await world.orphan(ref);
    assert.deepEqual(await world.objects(), objects);
    assert.deepEqual(await sweep(), { ...COUNTS, owned: 0, deleted: 1 });
    assert.deepEqual(await world.objects(), []);
  });

  test('goes however often the keys were rotated', async () => {
    await world.orphan(ref);
    for (let times = 0; times < 3; times++) await world.rpc('rotateKey', { sandboxId: owner });
    assert.deepEqual(await sweep(), { ...COUNTS, owned: 0, deleted: 1 });
  });

  test('is only counted in a dry run', async () => {
    await backup(markOf(await deleted(owner), owner));
    const objects = await world.objects();
    const counts = { ...COUNTS, scanned: 2, deleted: 1, dryRun: true };
    assert.deepEqual(await sweep({ dryRun: true }), counts);
    assert.deepEqual(await sweep({ dryRun: true }), counts);
    assert.deepEqual(await world.objects(), objects);
  });

  test('stays while it is younger than the grace period, which is a day where nothing is said', async () => {
    await backup(markOf(await deleted(owner), owner));
    const objects = await world.objects();
    const tooRecent = { ...COUNTS, scanned: 2, tooRecent: 2, owned: 0 };
    assert.deepEqual(await sweep({ graceSeconds: 3600 }), tooRecent);
    assert.deepEqual(await world.rpc('sweep', {}), tooRecent);
    assert.deepEqual(await world.objects(), objects);
  });

  test('goes wherever it is, when there is more than one listing holds', async () => {
    const [first, last] = ['00000000-0000-4000-8000-000000000000', 'ffffffff-ffff-4fff-bfff-ffffffffffff'];
    const others = Array.from({ length: 500 }, () => randomUUID());
    const names = { ...Object.fromEntries(others.map((id) => [id, 'nightly'])) };
    names[first] = names[last] = markOf(await deleted(owner), owner);
    const steps = Object.entries(names).flatMap(([id, name]) => [
      { do: 'write' as const, key: `backups/${id}/data.sqsh`, text: 'x' },
      { do: 'write' as const, key: `backups/${id}/meta.json`, text: metadataOf(id, name) },
    ]);
    await world.all(steps);
    assert.deepEqual(await sweep(), { ...COUNTS, scanned: 503, unmarked: 500, deleted: 2 });
    assert.equal((await world.objects()).length, 1002);
  });
});

describe('what carries the mark and was not made here stays:', () => {
  for (const [what, mark] of Object.entries({
    'a backup of a snapshot that the ledger never made': async () => markOf(FOREIGN, owner),
    'a backup of a sandbox that nobody knows': async () => markOf(FOREIGN, 'nobody'),
    'a backup of a snapshot of another sandbox': async () => {
      await world.exec(`${owner}-other`, 'echo x > file');
      return markOf(await deleted(`${owner}-other`), owner);
    },
    'a snapshot of this ledger under the name of a sandbox that nobody knows': async () =>
      markOf(await deleted(owner), 'nobody'),
  })) {
    test(what, async () => {
      await backup(await mark());
      const objects = await world.objects();
      assert.deepEqual(await sweep(), { ...COUNTS, scanned: 2, owned: 2 });
      assert.deepEqual(await sweep({ dryRun: true }), { ...COUNTS, scanned: 2, owned: 2, dryRun: true });
      assert.deepEqual(await world.objects(), objects);
    });
  }

  test('what another deployment made, which shares the bucket and the sandboxes', async () => {
    await using both = await World.start({ another: true });
    await both.exec('shared', 'echo x > file');
    const [here, there]: SnapshotRef[] = [
      await both.snapshot('shared'),
      await both.another('snapshot', { sandboxId: 'shared' }),
    ];
    assert.notEqual(here?.ref.backup.id, there?.ref.backup.id);
    const objects = await both.objects();
    assert.equal(objects.length, 4);
    for (const call of [both.rpc, both.another]) {
      assert.deepEqual(await call('sweep', { graceSeconds: 0 }), { ...COUNTS, scanned: 2, owned: 2 });
      assert.deepEqual(await both.objects(), objects);
    }

    await both.orphan(here as SnapshotRef);
    assert.deepEqual(await both.another('sweep', { graceSeconds: 0 }), { ...COUNTS, scanned: 2, owned: 2 });
    const counts = { ...COUNTS, scanned: 2, deleted: 1 };
    assert.deepEqual(await both.rpc('sweep', { graceSeconds: 0 }), counts);
    assert.equal((await both.another('verify', { ref: there })).ok, true);
    const { sandboxId } = (await both.another('restore', { ref: there })).ref;
    assert.equal(await both.exec(sandboxId, 'cat file'), 'x\n');
  });
});

describe('what does not carry the mark is the application’s, and stays:', () => {
  const NAMES: Record<string, string | undefined> = {
    'a backup without a name': undefined,
    'a backup with a name of its own': 'nightly',
    'a name that only looks like a mark': `snapshotter/2 ${FOREIGN} owner`,
    'a mark without a snapshot': 'snapshotter/1 nightly owner',
    'a mark behind something else': ` ${markOf(FOREIGN, 'owner')}`,
  };
  for (const [what, name] of Object.entries(NAMES)) {
    test(what, async () => {
      const keys = await backup(name);
      assert.deepEqual(await sweep(), { ...COUNTS, scanned: 2, unmarked: 1 });
      const objects = await world.objects();
      assert.ok(keys.every((key) => objects.includes(key)));
    });
  }

  for (const [what, text] of Object.entries({
    'metadata that can not be read': '{',
    'metadata that is too large': ' '.repeat(20_000),
    'metadata with the mark inside of another field': JSON.stringify({ note: markOf(FOREIGN, 'owner') }),
    'a copy under another id': metadataOf(randomUUID(), markOf(FOREIGN, 'owner')),
  })) {
    test(what, async () => {
      const id = randomUUID();
      await world.write(`backups/${id}/data.sqsh`, 'x');
      await world.write(`backups/${id}/meta.json`, text);
      assert.deepEqual(await sweep(), { ...COUNTS, scanned: 2, unmarked: 1 });
      assert.equal((await world.objects()).length, 4);
    });
  }

  test('objects of other names', async () => {
    const id = randomUUID();
    const mark = markOf(await deleted(owner), owner);
    const keys = ['backups/meta.json', `copies/${id}/meta.json`, `backups/${id}/copy/meta.json`];
    for (const key of keys) await world.write(key, metadataOf(id, mark));
    assert.deepEqual(await sweep(), COUNTS);
    const objects = await world.objects();
    assert.ok(keys.every((key) => objects.includes(key)));
  });
});

describe('half a backup', () => {
  test('without metadata stays, and is listed as unowned over RPC and HTTP', async () => {
    const id = randomUUID();
    const key = `backups/${id}/data.sqsh`;
    await world.write(key, 'an archive');
    const objects = await world.objects();
    for (const swept of [
      await sweep(),
      await sweep({ dryRun: true }),
      await world.http('sweep', { graceSeconds: 0 }),
    ]) {
      const [{ ageSeconds, ...object }] = swept.unownedObjects as [{ ageSeconds: number }];
      assert.deepEqual([swept.scanned, swept.unowned, object], [1, 1, { key, sizeBytes: 10 }]);
      assert.ok(ageSeconds >= 0 && ageSeconds < 600, `${ageSeconds} s`);
    }
    assert.deepEqual(await world.objects(), objects);
  });

  test('without metadata is not counted while it is younger than the grace period', async () => {
    await world.write(`backups/${randomUUID()}/data.sqsh`, 'an archive');
    assert.deepEqual(await sweep({ graceSeconds: 3600 }), { ...COUNTS, tooRecent: 1, owned: 0 });
  });

  test('without an archive goes where it carries the mark', async () => {
    const [archive] = await backup(markOf(await deleted(owner), owner));
    await world.delete(archive as string);
    assert.deepEqual(await sweep(), { ...COUNTS, scanned: 2, deleted: 1 });
  });
});

test('a capture that is under way is not swept', async () => {
  const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using slow = await World.start({
    onCall: async ({ method }) => {
      // The last call of a backup: both objects are in R2, and the ledger has not been told.
      if (method !== 'utils.deleteSession') return;
      held.resolve();
      await release.promise;
    },
  });
  await slow.exec('slow', 'echo x > file');
  const call = slow.snapshot('slow');
  await held.promise;
  const counts: Sweep = await slow.rpc('sweep', { graceSeconds: 0 });
  assert.equal(counts.deleted, 0);
  release.resolve();
  await slow.restores(await call, 'cat file', 'x\n');
});

test('the cron trigger sweeps, and logs what came of it', async () => {
  await backup(markOf(await deleted(owner), owner));
  const isOurs = (line: string) => line.startsWith('{"') && JSON.parse(line).event === 'sweep';
  const logged = world.log.length;
  await world.cron();
  await until(() => world.log.slice(logged).some(isOurs));
  const line = JSON.parse(world.log.findLast(isOurs) ?? '');
  assert.equal(line.outcome, 'success');
  const { unownedObjects: _, ...counts } = COUNTS;
  assert.deepEqual(line.counts, { ...counts, scanned: 2, tooRecent: 2, owned: 0 });
});

/** What the SDK stores beside an archive. */
function metadataOf(id: string, name: string): string {
  const createdAt = new Date().toISOString();
  return JSON.stringify({ id, dir: '/workspace', name, sizeBytes: 1, ttl: 3600, createdAt });
}
