// What the ledger of a sandbox knows of its snapshots, and what can be done with them there.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { until, World } from './world.ts';
import type { Manifest, SnapshotRef, Summary, TakenSnapshot, Verification } from '../client/src/index.ts';

let world: World;
let origins = 0;
let origin: string;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  origin = `origin-${++origins}`;
  await world.exec(origin, 'echo x > file');
});

const archive = ({ ref }: SnapshotRef) => `backups/${ref.backup.id}/data.sqsh`;
const metadata = ({ ref }: SnapshotRef) => `backups/${ref.backup.id}/meta.json`;
const code = async (call: Promise<unknown>) => (await world.failure(call)).code;

/** Snapshots of the origin with these labels, one after the other. */
async function taken(...labels: string[]): Promise<TakenSnapshot[]> {
  const refs = [];
  for (const label of labels) refs.push(await world.snapshot(origin, { label }));
  return refs;
}

for (const transport of ['rpc', 'http'] as const) {
  describe(`over ${transport}`, () => {
    test('a list has what is known of each snapshot, and refs that can be restored', async () => {
      const ref = await world.snapshot(origin, { label: 'first' });
      const { snapshots, ...rest } = await world[transport]('list', { sandboxId: origin });
      assert.deepEqual(rest, {});
      const [{ ageSeconds, checkedAt, ...row }] = snapshots;
      assert.ok(ageSeconds >= 0 && checkedAt >= ref.ref.createdAt);
      const { capture, ...plain } = ref;
      assert.deepEqual(row, {
        snapshotId: ref.ref.snapshotId,
        label: 'first',
        state: 'ready',
        dir: '/workspace',
        createdAt: ref.ref.createdAt,
        sizeBytes: capture?.sizeBytes,
        lastUsedAt: ref.ref.createdAt,
        expiresAt: new Date(Date.parse(ref.ref.createdAt) + 30 * 24 * 3600_000).toISOString(),
        pinned: false,
        dependents: [],
        restorable: 'yes',
        ref: plain,
      });
      await world.restores(row.ref, 'cat file', 'x\n');
    });

    test('a snapshot is found by its ref, its id and its label', async () => {
      const [ref] = (await taken('wanted')) as [TakenSnapshot];
      const { snapshotId } = ref.ref;
      for (const selection of [
        { ref },
        { sandboxId: origin, snapshotId },
        { sandboxId: origin, label: 'wanted' },
      ]) {
        assert.equal((await world[transport]('get', selection)).snapshotId, snapshotId);
        const workspace = await world[transport]('branch', selection);
        assert.equal(await world.exec(workspace.ref.sandboxId, 'cat file'), 'x\n');
      }
    });

    test('a snapshot is labelled anew, pinned, unpinned and deleted', async () => {
      const [ref] = (await taken('old')) as [TakenSnapshot];
      assert.equal((await world[transport]('label', { ref, newLabel: 'new' })).label, 'new');
      assert.equal((await world[transport]('pin', { ref })).pinned, true);
      assert.equal((await world[transport]('unpin', { ref })).pinned, false);
      const { snapshotId } = ref.ref;
      assert.deepEqual(await world[transport]('delete', { ref }), { snapshotId, removed: true });
      assert.deepEqual(await world[transport]('delete', { ref }), { snapshotId, removed: false });
      assert.deepEqual(await world.labels(origin), []);
    });
  });
}

describe('a list', () => {
  test('is by age, the newest first', async () => {
    await taken('one', 'two', 'three');
    assert.deepEqual(await world.labels(origin), ['three', 'two', 'one']);
  });

  test('goes on with its cursor, whatever comes and goes meanwhile', async () => {
    const [, two] = (await taken('one', 'two', 'three', 'four')) as TakenSnapshot[];
    const first = await world.list(origin, { limit: 2 });
    await world.rpc('delete', { ref: two });
    await taken('five');
    const second = await world.list(origin, { limit: 2, cursor: first.cursor });
    const labels = [...first.snapshots, ...second.snapshots].map(({ label }) => label);
    assert.deepEqual(labels, ['four', 'three', 'one']);
    assert.equal(second.cursor, undefined);
  });

  test('of a prefix has the labels that begin with it, exactly', async () => {
    await taken('a', 'a/1', 'a/2', 'A/3', 'b', 'a%', 'ä');
    const labels = async (labelPrefix: string, options = {}) =>
      (await world.list(origin, { labelPrefix, ...options })).snapshots.map(({ label }) => label);
    assert.deepEqual(await labels('a/'), ['a/2', 'a/1']);
    assert.deepEqual(await labels('a%'), ['a%']);
    assert.deepEqual(await labels('_'), []);
    assert.deepEqual(await labels('ä'), ['ä']);
    assert.deepEqual(await labels('').then(({ length }) => length), 7);
    const { cursor } = await world.list(origin, { labelPrefix: 'a/', limit: 1 });
    assert.deepEqual(await labels('a/', { cursor }), ['a/1']);
  });

  test('of a sandbox that was never captured is empty', async () => {
    assert.deepEqual(await world.list('never-seen'), { snapshots: [] });
  });

  test('shows what is still being made, which can be neither restored nor deleted', async () => {
    const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using slow = await World.start({
      onCall: async ({ method }) => {
        if (method !== 'backup.createArchive') return;
        held.resolve();
        await release.promise;
      },
    });
    await slow.exec('slow', 'echo x > file');
    const call = slow.snapshot('slow', { label: 'to come' });
    await held.promise;
    const [row] = (await slow.list('slow')).snapshots as [Summary];
    assert.deepEqual(
      [row.label, row.state, row.restorable, row.ref],
      ['to come', 'creating', 'no', undefined],
    );
    const selection = { sandboxId: 'slow', snapshotId: row.snapshotId };
    for (const method of ['restore', 'delete', 'pin', 'verify']) {
      assert.equal((await slow.failure(slow.rpc(method, selection))).code, 'SNAPSHOT_BUSY', method);
    }
    release.resolve();
    assert.equal((await call).ref.snapshotId, row.snapshotId);
    assert.equal((await slow.list('slow')).snapshots[0]?.state, 'ready');
  });
});

describe('what can be restored', () => {
  for (const [what, key] of Object.entries({ archive, metadata })) {
    test(`is no more, when the ${what} was deleted from R2`, async () => {
      const [ref] = (await taken('gone')) as [TakenSnapshot];
      await world.delete(key(ref));
      const [row] = (await world.list(origin)).snapshots as [Summary];
      assert.equal(row.restorable, 'no');
      assert.match(row.why ?? '', new RegExp(`its ${what} is missing`));
      assert.equal((await world.get(ref)).restorable, 'no');
    });
  }

  test('is remembered, for a list that does not look', async () => {
    const [ref] = (await taken('gone')) as [TakenSnapshot];
    await world.delete(archive(ref));
    const restorable = async (check: boolean) =>
      (await world.list(origin, { check })).snapshots[0]?.restorable;
    assert.equal(await restorable(false), 'yes', 'nobody has looked yet');
    assert.equal(await restorable(true), 'no');
    assert.equal(await restorable(false), 'no');
  });

  test('is again, when what was missing is back', async () => {
    const [ref] = (await taken('back')) as [TakenSnapshot];
    const text = (await world.read(metadata(ref))) ?? '';
    await world.delete(metadata(ref));
    assert.equal((await world.get(ref)).restorable, 'no');
    await world.write(metadata(ref), text);
    assert.equal((await world.get(ref)).restorable, 'yes');
  });
});

describe('a label', () => {
  test('that another snapshot has is refused, before anything is captured', async () => {
    await taken('mine');
    const objects = await world.objects();
    const error = await world.failure(world.snapshot(origin, { label: 'mine' }));
    assert.deepEqual([error.code, error.kind], ['LABEL_TAKEN', 'conflict']);
    assert.deepEqual(await world.objects(), objects);
  });

  test('is taken from another snapshot by replace, which leaves that one by its time', async () => {
    const [old] = (await taken('latest')) as [TakenSnapshot];
    const next = await world.snapshot(origin, { label: 'latest', replace: true });
    assert.equal((await world.get(next)).label, 'latest');
    assert.match((await world.get(old)).label, /^snap-\d{8}-\d{6}/);
    await world.rpc('label', { ref: old, newLabel: 'latest', replace: true });
    assert.equal((await world.get(old)).label, 'latest');
    assert.match((await world.get(next)).label, /^snap-/);
  });

  test('stays with its snapshot, when the one that would replace it is not taken', async () => {
    const [old] = (await taken('latest')) as [TakenSnapshot];
    await world.failure(world.snapshot(origin, { label: 'latest', replace: true, dir: '/workspace/none' }));
    assert.equal((await world.get(old)).label, 'latest');
  });

  test('of a deleted snapshot is free', async () => {
    const [old] = (await taken('again')) as [TakenSnapshot];
    await world.rpc('delete', { ref: old });
    const next = await world.snapshot(origin, { label: 'again' });
    const selected = await world.rpc('get', { sandboxId: origin, label: 'again' });
    assert.equal(selected.snapshotId, next.ref.snapshotId);
  });

  test('is one of its kind in a sandbox only', async () => {
    await taken('same');
    await world.exec('another', 'echo x > file');
    assert.equal((await world.snapshot('another', { label: 'same' })).capture?.label, 'same');
  });

  test('given twice to the same snapshot is fine', async () => {
    const [ref] = (await taken('same')) as [TakenSnapshot];
    assert.equal((await world.rpc('label', { ref, newLabel: 'same' })).label, 'same');
  });

  test('that was given nothing is one by the time, for each of a second', async () => {
    const refs = [await world.snapshot(origin), await world.snapshot(origin), await world.snapshot(origin)];
    assert.equal(new Set(refs.map(({ capture }) => capture?.label)).size, 3);
  });
});

describe('delete', () => {
  test('removes both objects from R2, and nothing else', async () => {
    const [one, two] = (await taken('one', 'two')) as [TakenSnapshot, TakenSnapshot];
    const objects = await world.objects();
    await world.rpc('delete', { ref: one });
    const gone = [archive(one), metadata(one)];
    assert.deepEqual(
      await world.objects(),
      objects.filter((key) => !gone.includes(key)),
    );
    await world.restores(two, 'cat file', 'x\n');
  });

  test('says why the snapshot is not there any more', async () => {
    const [ref] = (await taken('one')) as [TakenSnapshot];
    await world.rpc('delete', { ref });
    const error = await world.failure(world.restore(ref));
    assert.deepEqual([error.code, error.kind], ['SNAPSHOT_NOT_FOUND', 'not_found']);
    assert.match(error.message, /deleted by a caller/);
    const manifest: Manifest = await world.rpc('manifest', { ref });
    assert.deepEqual([manifest.state, manifest.removal?.reason], ['deleted', 'deleted by a caller']);
  });

  test('is refused while a sandbox that was made from it needs it, and names that', async () => {
    const [ref] = (await taken('needed')) as [TakenSnapshot];
    const { sandboxId } = (await world.restore(ref)).ref;
    const error = await world.failure(world.rpc('delete', { ref }));
    assert.deepEqual(
      [error.code, error.kind, error.retryable],
      ['SNAPSHOT_HAS_DEPENDENTS', 'conflict', false],
    );
    assert.ok(error.message.includes(sandboxId), error.message);
    assert.deepEqual((await world.get(ref)).dependents, [sandboxId]);
    await world.exec(sandboxId, 'echo y > file');
    await world.snapshot(sandboxId);
    await until(async () => (await world.get(ref)).dependents.length === 0);
    assert.equal((await world.rpc('delete', { ref })).removed, true);
  });

  test('is refused while it is pinned', async () => {
    const [ref] = (await taken('pinned')) as [TakenSnapshot];
    await world.rpc('pin', { ref });
    const error = await world.failure(world.rpc('delete', { ref }));
    assert.deepEqual([error.code, /is pinned/.test(error.message)], ['SNAPSHOT_HAS_DEPENDENTS', true]);
    await world.rpc('unpin', { ref });
    assert.equal((await world.rpc('delete', { ref })).removed, true);
  });

  test('by force removes what is needed and pinned, and the sandbox that was made from it goes on', async () => {
    const [ref] = (await taken('both')) as [TakenSnapshot];
    const { sandboxId } = (await world.restore(ref)).ref;
    await world.rpc('pin', { ref });
    assert.equal((await world.rpc('delete', { ref, force: true })).removed, true);
    assert.deepEqual(await world.labels(origin), []);
    assert.equal(await world.exec(sandboxId, 'cat file'), 'x\n');
    assert.equal((await world.snapshot(sandboxId)).ref.rootId, origin);
  });

  test('by many callers at the same time removes it once', async () => {
    const [ref] = (await taken('one')) as [TakenSnapshot];
    const answers = await Promise.all(Array.from({ length: 8 }, () => world.rpc('delete', { ref })));
    assert.equal(answers.filter(({ removed }) => removed).length, 1);
  });

  test('of what somebody removed from R2 already is fine', async () => {
    const [ref] = (await taken('one')) as [TakenSnapshot];
    await world.delete(archive(ref));
    await world.delete(metadata(ref));
    assert.equal((await world.rpc('delete', { ref })).removed, true);
    assert.deepEqual(await world.labels(origin), []);
  });

  test('of an id that never was says so', async () => {
    const selection = { sandboxId: origin, snapshotId: 'snap-0000000000000000' };
    assert.equal(await code(world.rpc('delete', selection)), 'SNAPSHOT_NOT_FOUND');
  });
});

describe('verify', () => {
  let ref: TakenSnapshot;
  beforeEach(async () => {
    [ref] = (await taken('checked')) as [TakenSnapshot];
  });

  /** What verify answers; the sandboxes that run are the same before and after, and before nothing else. */
  async function verified(): Promise<Verification> {
    await world.sandbox(origin, 'destroy');
    const running = world.running();
    const answer = await world.rpc('verify', { ref });
    assert.deepEqual(world.running(), running, 'no container is started');
    return answer;
  }

  test('of a whole backup finds everything right', async () => {
    const { ok, checks } = await verified();
    assert.deepEqual(
      [ok, ...checks.map(({ name, ok }) => [name, ok])],
      [true, ['objects', true], ['header', true], ['checksum', true]],
    );
  });

  const DAMAGES: Record<string, [RegExp, (text: string) => Promise<void>]> = {
    'a missing archive': [/archive is missing/, () => world.delete(archive(ref))],
    'missing metadata': [/metadata is missing/, () => world.delete(metadata(ref))],
    'an archive that was cut': [/bytes/, () => world.write(archive(ref), 'hsqs')],
    'an archive that was overwritten with as many bytes': [
      /checksum/,
      () => world.write(archive(ref), 'x'.repeat(ref.capture.sizeBytes)),
    ],
    'metadata of another size': [
      /bytes/,
      (text) => world.write(metadata(ref), JSON.stringify({ ...JSON.parse(text), sizeBytes: 1 })),
    ],
    'metadata of another mark': [
      /mark/,
      (text) => world.write(metadata(ref), JSON.stringify({ ...JSON.parse(text), name: 'another' })),
    ],
    'metadata that is none': [/meta|metadata/, () => world.write(metadata(ref), '{')],
  };
  for (const [what, [found, damage]] of Object.entries(DAMAGES)) {
    test(`finds ${what}`, async () => {
      await damage((await world.read(metadata(ref))) ?? '');
      const { ok, checks } = await verified();
      assert.equal(ok, false);
      assert.match(checks.find(({ ok }) => ok === false)?.detail ?? '', found);
      assert.equal((await world.list(origin, { check: false })).snapshots[0]?.restorable, 'no');
    });
  }
});
