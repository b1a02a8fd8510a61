// The sweep of the bucket: it deletes backups of this deployment that no ledger lists, and no others.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';

import { isAfterBackup, until, World } from './world.ts';
import type { SnapshotRef, Sweep } from '../client/src/index.ts';

let world: World;
let owners = 0;
let owner: string;
let ref: SnapshotRef;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

/** Leaves one snapshot of one sandbox in the bucket. */
beforeEach(async () => {
  await world.all((await world.objects()).map((key) => ({ do: 'delete', key })));
  owner = `owner-${++owners}`;
  await world.exec(owner, 'echo x > file');
  ref = await world.snapshot(owner);
});

/** The id of a snapshot that this deployment did not take. */
const FOREIGN = 'snap-0000000000000000';

const markOf = (snapshotId: string, sandboxId: string) => `snapshotter/1 ${snapshotId} ${sandboxId}`;

/** Creates a backup with a name, as an application does, and returns its keys. */
async function backup(name: string | undefined): Promise<string[]> {
  const { id } = await world.backUp(owner, name === undefined ? {} : { name });
  return [`backups/${id}/data.sqsh`, `backups/${id}/meta.json`];
}

/** Takes and deletes a snapshot of a sandbox, and returns its id. */
async function mintDeletedId(sandboxId: string): Promise<string> {
  const snapshot = await world.snapshot(sandboxId);
  await world.rpc('delete', { ref: snapshot });
  return snapshot.ref.snapshotId;
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

test('a backup that a ledger lists is kept', async () => {
  assert.deepEqual(await sweep(), COUNTS);
  await world.assertRestores(ref, 'cat file', 'x\n');
});

describe('a backup of this deployment that no ledger lists', () => {
  for (const [what, mark] of Object.entries({
    'with the mark of a deleted snapshot': async () => markOf(await mintDeletedId(owner), owner),
    'with the mark of a snapshot of another backup': async () => markOf(ref.ref.snapshotId, owner),
  })) {
    test(`is deleted: ${what}`, async () => {
      const objects = await world.objects();
      await backup(await mark());
      assert.deepEqual(await sweep(), { ...COUNTS, scanned: 2, deleted: 1 });
      assert.deepEqual(await world.objects(), objects);
      assert.deepEqual(await sweep(), COUNTS);
    });
  }

  test('is deleted over HTTP', async () => {
    await world.orphanBackup(ref);
    assert.equal((await world.http('sweep', { graceSeconds: 0 })).deleted, 1);
  });

  test('is deleted if its objects exist after its deletion from the ledger', async () => {
    const objects = await world.objects();
    await world.orphanBackup(ref);
    assert.deepEqual(await world.objects(), objects);
    assert.deepEqual(await sweep(), { ...COUNTS, owned: 0, deleted: 1 });
    assert.deepEqual(await world.objects(), []);
  });

  test('is deleted after key rotations', async () => {
    await world.orphanBackup(ref);
    for (let times = 0; times < 3; times++) await world.rpc('rotateKey', { sandboxId: owner });
    assert.deepEqual(await sweep(), { ...COUNTS, owned: 0, deleted: 1 });
  });

  test('is counted but not deleted in a dry run', async () => {
    await backup(markOf(await mintDeletedId(owner), owner));
    const objects = await world.objects();
    const counts = { ...COUNTS, scanned: 2, deleted: 1, dryRun: true };
    assert.deepEqual(await sweep({ dryRun: true }), counts);
    assert.deepEqual(await sweep({ dryRun: true }), counts);
    assert.deepEqual(await world.objects(), objects);
  });

  test('is kept while it is younger than the grace period, which is a day by default', async () => {
    await backup(markOf(await mintDeletedId(owner), owner));
    const objects = await world.objects();
    const tooRecent = { ...COUNTS, scanned: 2, tooRecent: 2, owned: 0 };
    assert.deepEqual(await sweep({ graceSeconds: 3600 }), tooRecent);
    assert.deepEqual(await world.rpc('sweep', {}), tooRecent);
    assert.deepEqual(await world.objects(), objects);
  });

  test('is deleted on every page of a listing', async () => {
    const [first, last] = ['00000000-0000-4000-8000-000000000000', 'ffffffff-ffff-4fff-bfff-ffffffffffff'];
    const others = Array.from({ length: 500 }, () => randomUUID());
    const names = { ...Object.fromEntries(others.map((id) => [id, 'nightly'])) };
    names[first] = names[last] = markOf(await mintDeletedId(owner), owner);
    const steps = Object.entries(names).flatMap(([id, name]) => [
      { do: 'write' as const, key: `backups/${id}/data.sqsh`, text: 'x' },
      { do: 'write' as const, key: `backups/${id}/meta.json`, text: metadataOf(id, name) },
    ]);
    await world.all(steps);
    assert.deepEqual(await sweep(), { ...COUNTS, scanned: 503, unmarked: 500, deleted: 2 });
    assert.equal((await world.objects()).length, 1002);
  });
});

describe('a backup with a mark that is not of this deployment is kept:', () => {
  for (const [what, mark] of Object.entries({
    'of a snapshot that its ledger never listed': async () => markOf(FOREIGN, owner),
    'of an unknown sandbox': async () => markOf(FOREIGN, 'unknown'),
    'with the mark of a snapshot of another sandbox': async () => {
      await world.exec(`${owner}-other`, 'echo x > file');
      return markOf(await mintDeletedId(`${owner}-other`), owner);
    },
    'of a snapshot of this ledger with the id of an unknown sandbox': async () =>
      markOf(await mintDeletedId(owner), 'unknown'),
  })) {
    test(what, async () => {
      await backup(await mark());
      const objects = await world.objects();
      assert.deepEqual(await sweep(), { ...COUNTS, scanned: 2, owned: 2 });
      assert.deepEqual(await sweep({ dryRun: true }), { ...COUNTS, scanned: 2, owned: 2, dryRun: true });
      assert.deepEqual(await world.objects(), objects);
    });
  }

  test('of another deployment with the same bucket and sandboxes', async () => {
    await using both = await World.start({ otherDeployment: true });
    await both.exec('shared', 'echo x > file');
    const [here, there]: SnapshotRef[] = [
      await both.snapshot('shared'),
      await both.callOtherDeployment('snapshot', { sandboxId: 'shared' }),
    ];
    assert.notEqual(here?.ref.backup.id, there?.ref.backup.id);
    const objects = await both.objects();
    assert.equal(objects.length, 4);
    for (const call of [both.rpc, both.callOtherDeployment]) {
      assert.deepEqual(await call('sweep', { graceSeconds: 0 }), { ...COUNTS, scanned: 2, owned: 2 });
      assert.deepEqual(await both.objects(), objects);
    }

    await both.orphanBackup(here as SnapshotRef);
    assert.deepEqual(await both.callOtherDeployment('sweep', { graceSeconds: 0 }), {
      ...COUNTS,
      scanned: 2,
      owned: 2,
    });
    const counts = { ...COUNTS, scanned: 2, deleted: 1 };
    assert.deepEqual(await both.rpc('sweep', { graceSeconds: 0 }), counts);
    assert.equal((await both.callOtherDeployment('verify', { ref: there })).ok, true);
    const { sandboxId } = (await both.callOtherDeployment('restore', { ref: there })).ref;
    assert.equal(await both.exec(sandboxId, 'cat file'), 'x\n');
  });
});

describe('an object without a mark is kept:', () => {
  const NAMES: Record<string, string | undefined> = {
    'a backup without a name': undefined,
    'a backup with another name': 'nightly',
    'a name in the form of a later version of marks': `snapshotter/2 ${FOREIGN} owner`,
    'a mark without a snapshot': 'snapshotter/1 nightly owner',
    'a mark after a blank': ` ${markOf(FOREIGN, 'owner')}`,
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
    'malformed metadata': '{',
    'metadata beyond the size limit': ' '.repeat(20_000),
    'metadata with a mark in another field': JSON.stringify({ note: markOf(FOREIGN, 'owner') }),
    'a copy with another id': metadataOf(randomUUID(), markOf(FOREIGN, 'owner')),
  })) {
    test(what, async () => {
      const id = randomUUID();
      await world.write(`backups/${id}/data.sqsh`, 'x');
      await world.write(`backups/${id}/meta.json`, text);
      assert.deepEqual(await sweep(), { ...COUNTS, scanned: 2, unmarked: 1 });
      assert.equal((await world.objects()).length, 4);
    });
  }

  test('objects with other names', async () => {
    const id = randomUUID();
    const mark = markOf(await mintDeletedId(owner), owner);
    const keys = ['backups/meta.json', `copies/${id}/meta.json`, `backups/${id}/copy/meta.json`];
    for (const key of keys) await world.write(key, metadataOf(id, mark));
    assert.deepEqual(await sweep(), COUNTS);
    const objects = await world.objects();
    assert.ok(keys.every((key) => objects.includes(key)));
  });
});

describe('an incomplete backup', () => {
  test('without metadata is kept, and listed as unowned over RPC and HTTP', async () => {
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

  test('without an archive is deleted if it has a mark', async () => {
    const [archive] = await backup(markOf(await mintDeletedId(owner), owner));
    await world.delete(archive as string);
    assert.deepEqual(await sweep(), { ...COUNTS, scanned: 2, deleted: 1 });
  });
});

test('a capture in progress is kept', async () => {
  const [reached, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using slow = await World.start({
    onCall: async (call) => {
      // Both objects are in R2, but the ledger does not list them yet.
      if (!isAfterBackup(call)) return;
      reached.resolve();
      await release.promise;
    },
  });
  await slow.exec('slow', 'echo x > file');
  const call = slow.snapshot('slow');
  await reached.promise;
  const counts: Sweep = await slow.rpc('sweep', { graceSeconds: 0 });
  assert.equal(counts.deleted, 0);
  release.resolve();
  await slow.assertRestores(await call, 'cat file', 'x\n');
});

test('the cron trigger sweeps, and logs the counts', async () => {
  await backup(markOf(await mintDeletedId(owner), owner));
  const isSweepLine = (line: string) => line.startsWith('{"') && JSON.parse(line).event === 'sweep';
  const logged = world.log.length;
  await world.fireCron();
  await until(() => world.log.slice(logged).some(isSweepLine));
  const line = JSON.parse(world.log.findLast(isSweepLine) ?? '');
  assert.equal(line.outcome, 'success');
  const { unownedObjects: _, ...counts } = COUNTS;
  assert.deepEqual(line.counts, { ...counts, scanned: 2, tooRecent: 2, owned: 0 });
});

/** Returns the metadata that the SDK stores with an archive. */
function metadataOf(id: string, name: string): string {
  const createdAt = new Date().toISOString();
  return JSON.stringify({ id, dir: '/workspace', name, sizeBytes: 1, ttl: 3600, createdAt });
}
