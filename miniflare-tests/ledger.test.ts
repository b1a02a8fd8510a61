// The ledger of a sandbox: list, get, label, pin, delete and verify.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { isArchiving, until, World } from './world.ts';
import type { SnapshotRef, Summary, TakenSnapshot, Verification } from '../client/src/index.ts';

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

/** Takes snapshots of the origin with these labels, one after the other. */
async function takeSnapshots(...labels: string[]): Promise<TakenSnapshot[]> {
  const refs = [];
  for (const label of labels) refs.push(await world.snapshot(origin, { label }));
  return refs;
}

for (const transport of ['rpc', 'http'] as const) {
  describe(`over ${transport}`, () => {
    test('a list has the properties of each snapshot, and refs that can be restored', async () => {
      const ref = await world.snapshot(origin, { label: 'first' });
      const { snapshots, ...rest } = await world[transport]('list', { sandboxId: origin });
      assert.deepEqual(rest, {});
      const [{ ageSeconds, checkedAt, provenance, fullReason, ...row }] = snapshots;
      assert.ok(ageSeconds >= 0 && checkedAt >= ref.ref.createdAt);
      assert.match(provenance.packages, /^[0-9a-f]{16}$/);
      assert.equal(fullReason, ref.capture?.reason);
      const { capture, snapshotId, shortRef, ...plain } = ref;
      assert.deepEqual(row, {
        snapshotId,
        shortRef,
        label: 'first',
        state: 'ready',
        cause: 'caller',
        dir: '/workspace',
        createdAt: ref.ref.createdAt,
        sizeBytes: capture?.sizeBytes,
        ownBytes: capture?.sizeBytes,
        sharedBytes: 0,
        format: 'squashfs',
        lastUsedAt: ref.ref.createdAt,
        expiresAt: new Date(Date.parse(ref.ref.createdAt) + 30 * 24 * 3600_000).toISOString(),
        pinned: false,
        dependents: [],
        restorable: 'yes',
        ref: plain,
      });
      await world.assertRestores(row.ref, 'cat file', 'x\n');
    });

    test('a snapshot is selected by its ref, its id or its label', async () => {
      const [ref] = (await takeSnapshots('wanted')) as [TakenSnapshot];
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

    test('a snapshot can be labeled, pinned, unpinned and deleted', async () => {
      const [ref] = (await takeSnapshots('old')) as [TakenSnapshot];
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
  test('is ordered by age, the newest first', async () => {
    await takeSnapshots('one', 'two', 'three');
    assert.deepEqual(await world.labels(origin), ['three', 'two', 'one']);
  });

  test('of a sandbox that was never captured is empty', async () => {
    assert.deepEqual(await world.list('never-seen'), {
      snapshots: [],
      note: 'There is no record of a sandbox "never-seen": no snapshot of it was taken or imported.',
    });
  });

  test('of the name of a workspace names the sandbox of the workspace', async () => {
    const workspace = world.workspace('listed-by-name');
    await workspace.create();
    const sandboxId = await workspace.sandboxId();
    await until(async () => {
      const { snapshots, note } = await world.http('list', { sandboxId: 'listed-by-name' });
      assert.deepEqual(snapshots, []);
      return note.endsWith(`The workspace "listed-by-name" has the sandbox "${sandboxId}".`);
    });
  });

  test('shows a snapshot in progress, which can be neither restored nor deleted', async () => {
    const [reached, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using slow = await World.start({
      onCall: async (call) => {
        if (!isArchiving(call)) return;
        reached.resolve();
        await release.promise;
      },
    });
    await slow.exec('slow', 'echo x > file');
    const call = slow.snapshot('slow', { label: 'to come' });
    await reached.promise;
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

describe('the restorability of a snapshot', () => {
  for (const [what, key] of Object.entries({ archive, metadata })) {
    test(`is "no" after the ${what} was deleted from R2`, async () => {
      const [ref] = (await takeSnapshots('gone')) as [TakenSnapshot];
      await world.delete(key(ref));
      const [row] = (await world.list(origin)).snapshots as [Summary];
      assert.equal(row.restorable, 'no');
      assert.match(row.why ?? '', new RegExp(`its ${what} is missing`));
      assert.equal((await world.get(ref)).restorable, 'no');
    });
  }

  test('is that of the last check, in a list without checks', async () => {
    const [ref] = (await takeSnapshots('gone')) as [TakenSnapshot];
    await world.delete(archive(ref));
    const restorable = async (check: boolean) =>
      (await world.list(origin, { check })).snapshots[0]?.restorable;
    assert.equal(await restorable(false), 'yes', 'no check yet');
    assert.equal(await restorable(true), 'no');
    assert.equal(await restorable(false), 'no');
  });

  test('is "yes" again after the missing object was restored', async () => {
    const [ref] = (await takeSnapshots('back')) as [TakenSnapshot];
    const text = (await world.read(metadata(ref))) ?? '';
    await world.delete(metadata(ref));
    assert.equal((await world.get(ref)).restorable, 'no');
    await world.write(metadata(ref), text);
    assert.equal((await world.get(ref)).restorable, 'yes');
  });
});

describe('delete', () => {
  test('removes both objects from R2, and no other object', async () => {
    const [one, two] = (await takeSnapshots('one', 'two')) as [TakenSnapshot, TakenSnapshot];
    const objects = await world.objects();
    await world.rpc('delete', { ref: one });
    const gone = [archive(one), metadata(one)];
    assert.deepEqual(
      await world.objects(),
      objects.filter((key) => !gone.includes(key)),
    );
    await world.assertRestores(two, 'cat file', 'x\n');
  });

  test('is refused while the snapshot has a dependent, which the error names', async () => {
    const [ref] = (await takeSnapshots('needed')) as [TakenSnapshot];
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

  test('with force removes a pinned snapshot with a dependent, and the dependent continues to work', async () => {
    const [ref] = (await takeSnapshots('both')) as [TakenSnapshot];
    const { sandboxId } = (await world.restore(ref)).ref;
    await world.rpc('pin', { ref });
    assert.equal((await world.rpc('delete', { ref, force: true })).removed, true);
    assert.deepEqual(await world.labels(origin), []);
    assert.equal(await world.exec(sandboxId, 'cat file'), 'x\n');
    assert.equal((await world.snapshot(sandboxId)).ref.rootId, origin);
  });

  test('by many concurrent callers removes the snapshot once', async () => {
    const [ref] = (await takeSnapshots('one')) as [TakenSnapshot];
    const answers = await Promise.all(Array.from({ length: 8 }, () => world.rpc('delete', { ref })));
    assert.equal(answers.filter(({ removed }) => removed).length, 1);
  });
});

describe('verify', () => {
  let ref: TakenSnapshot;
  beforeEach(async () => {
    [ref] = (await takeSnapshots('checked')) as [TakenSnapshot];
  });

  /** Destroys the origin, and returns the answer of verify, which must start no container. */
  async function runVerify(): Promise<Verification> {
    await world.sandbox(origin, 'destroy');
    const running = world.running();
    const answer = await world.rpc('verify', { ref });
    assert.deepEqual(world.running(), running, 'no container is started');
    return answer;
  }

  test('passes every check for a complete backup', async () => {
    const { ok, checks } = await runVerify();
    assert.deepEqual(
      [ok, ...checks.map(({ name, ok }) => [name, ok])],
      [true, ['objects', true], ['header', true], ['checksum', true]],
    );
  });

  const DAMAGES: Record<string, [RegExp, (text: string) => Promise<void>]> = {
    'a missing archive': [/archive is missing/, () => world.delete(archive(ref))],
    'missing metadata': [/metadata is missing/, () => world.delete(metadata(ref))],
    'a truncated archive': [/bytes/, () => world.write(archive(ref), 'hsqs')],
    'an archive that was overwritten with the same size': [
      /checksum/,
      () => world.write(archive(ref), 'x'.repeat(ref.capture.sizeBytes)),
    ],
    'metadata with another size': [
      /bytes/,
      (text) => world.write(metadata(ref), JSON.stringify({ ...JSON.parse(text), sizeBytes: 1 })),
    ],
    'metadata with another mark': [
      /mark/,
      (text) => world.write(metadata(ref), JSON.stringify({ ...JSON.parse(text), name: 'another' })),
    ],
    'malformed metadata': [/meta|metadata/, () => world.write(metadata(ref), '{')],
  };
  for (const [what, [found, damage]] of Object.entries(DAMAGES)) {
    test(`detects ${what}`, async () => {
      await damage((await world.read(metadata(ref))) ?? '');
      const { ok, checks } = await runVerify();
      assert.equal(ok, false);
      assert.match(checks.find(({ ok }) => ok === false)?.detail ?? '', found);
      assert.equal((await world.list(origin, { check: false })).snapshots[0]?.restorable, 'no');
    });
  }
});
