// Lineage: the tree of snapshots and sandboxes, manifests, lineage scopes, and the keys that sign refs.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { isUnpacking, until, World } from './world.ts';
import type { Manifest, SnapshotRef, Tree, TreeSandbox } from '../client/src/index.ts';

let world: World;
let failsToUnpack = false;
let origins = 0;
let origin: string;

before(async () => {
  world = await World.start({
    onCall: (call) => {
      if (failsToUnpack && isUnpacking(call)) throw new Error('the disk is full');
    },
  });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  origin = `origin-${++origins}`;
  await world.exec(origin, 'echo x > file');
});

const code = async (call: Promise<unknown>) => (await world.failure(call)).code;

/** The ids of a tree: each sandbox with its snapshots, each snapshot with the sandboxes created from it. */
type Shape = [sandboxId: string, ...snapshots: [snapshotId: string, ...derived: Shape[]][]];
const shape = ({ sandboxId, snapshots, problem }: TreeSandbox): Shape => {
  assert.equal(problem, undefined);
  return [sandboxId, ...snapshots.map((node) => [node.snapshotId, ...node.derived.map(shape)] as any)];
};

describe('the lineage', () => {
  test('of a sandbox that was never captured is that sandbox', async () => {
    const tree: Tree = await world.rpc('lineage', { sandboxId: 'never-seen' });
    assert.deepEqual(tree, {
      root: { sandboxId: 'never-seen', snapshots: [] },
      sandboxes: 1,
      truncated: false,
    });
  });

  for (const transport of ['rpc', 'http'] as const) {
    test(`is the same tree from each of its sandboxes, over ${transport}`, async () => {
      const first = await world.snapshot(origin);
      const restored = (await world.restore(first)).ref.sandboxId;
      const second = await world.snapshot(restored);
      const again = (await world.restore(second)).ref.sandboxId;
      const branch = (await world.branch(second)).ref.sandboxId;
      const newest = (await world.branch(second)).ref.sandboxId;
      const third = await world.snapshot(origin);
      const expected: Shape = [
        origin,
        [third.ref.snapshotId],
        [first.ref.snapshotId, [restored, [second.ref.snapshotId, [newest], [branch], [again]]]],
      ];
      for (const sandboxId of [origin, restored, again, branch, newest]) {
        const tree: Tree = await world[transport]('lineage', { sandboxId });
        assert.deepEqual(shape(tree.root), expected, `from ${sandboxId}`);
        assert.equal(tree.sandboxes, 5);
      }
    });
  }

  test('has the operation that created each sandbox', async () => {
    const ref = await world.snapshot(origin);
    const restored = (await world.restore(ref)).ref.sandboxId;
    const branch = (await world.branch(ref)).ref.sandboxId;
    const { root }: Tree = await world.rpc('lineage', { sandboxId: origin });
    const derived = root.snapshots[0]?.derived.map(({ sandboxId, lineage }) => [sandboxId, lineage]);
    assert.equal(root.lineage, undefined);
    assert.deepEqual(Object.fromEntries(derived ?? []), { [restored]: 'restored', [branch]: 'branch' });
  });

  test('contains a deleted snapshot from which a sandbox was created', async () => {
    const ref = await world.snapshot(origin);
    const restored = (await world.restore(ref)).ref.sandboxId;
    await world.rpc('delete', { ref, force: true });
    const { root }: Tree = await world.rpc('lineage', { sandboxId: restored });
    assert.deepEqual(shape(root), [origin, [ref.ref.snapshotId, [restored]]]);
    assert.equal(root.snapshots[0]?.state, 'deleted');
  });

  test('does not contain the sandbox of a failed restore', async () => {
    const ref = await world.snapshot(origin);
    failsToUnpack = true;
    assert.equal(await code(world.restore(ref)), 'RESTORE_FAILED');
    failsToUnpack = false;
    const { sandboxes }: Tree = await world.rpc('lineage', { sandboxId: origin });
    assert.equal(sandboxes, 1);
  });

  for (const root of [
    'with blanks in it',
    'ünï 🦀',
    `quote's "and" more`,
    'a/b?c#d%20e',
    'snap-restored-branch',
  ]) {
    test(`of ${root} is complete`, async () => {
      await world.exec(root, 'echo x > file');
      const ref = await world.http('snapshot', { sandboxId: root, label: root });
      const { sandboxId } = (await world.http('restore', { ref })).ref;
      assert.equal(await world.exec(sandboxId, 'cat file'), 'x\n');
      const own = await world.snapshot(sandboxId);
      const tree: Tree = await world.rpc('lineage', { sandboxId });
      assert.deepEqual(shape(tree.root), [root, [ref.ref.snapshotId, [sandboxId, [own.ref.snapshotId]]]]);
      await until(async () => (await world.get(ref)).dependents.length === 0);
      assert.equal((await world.rpc('sweep', { graceSeconds: 0, dryRun: true })).deleted, 0);
      const { removed } = await world.rpc('delete', {
        sandboxId: root,
        label: root,
        lineageScope: sandboxId,
      });
      assert.equal(removed, true);
    });
  }

  test('of a chain of ids with the maximal length is complete', async () => {
    const root = 'a-very-long-name-'.repeat(3).padEnd(63, 'x');
    await world.exec(root, 'echo x > file');
    const chain = [root];
    for (let generation = 0; generation < 4; generation += 1) {
      const ref = await world.snapshot(chain.at(-1)!);
      assert.equal(ref.ref.rootId, root);
      chain.push((await world.restore(ref)).ref.sandboxId);
    }
    const tree: Tree = await world.rpc('lineage', { sandboxId: chain.at(-1) });
    assert.deepEqual([tree.root.sandboxId, tree.sandboxes], [root, 5]);
    assert.ok(chain.every((id) => id.length <= 63));
  });
});

describe('the manifest', () => {
  test('has every property of a snapshot', async () => {
    const parent = await world.snapshot(origin);
    const { sandboxId } = (await world.restore(parent)).ref;
    const options = {
      label: 'manifest',
      excludes: ['*.log'],
      gitignore: true,
      compression: { format: 'gzip' },
      expirationSeconds: 3600,
    };
    const ref = await world.snapshot(sandboxId, options);
    const derived = (await world.branch(ref)).ref.sandboxId;
    const manifest: Manifest = await world.rpc('manifest', { ref });
    const { excludes, gitignore, compression, expirationSeconds, label } = manifest;
    assert.deepEqual({ label, excludes, gitignore, compression, expirationSeconds }, options);
    const backup = `backups/${ref.ref.backup.id}`;
    assert.deepEqual(manifest.objects, [`${backup}/data.sqsh`, `${backup}/meta.json`]);
    assert.deepEqual([manifest.schemaVersion, manifest.originId, manifest.rootId], [1, sandboxId, origin]);
    assert.deepEqual(manifest.parent, { originId: origin, snapshotId: parent.ref.snapshotId });
    assert.match(manifest.checksum ?? '', /^md5:[0-9a-f]{32}$/);
    assert.equal(manifest.captureBeganAt, ref.capture?.beganAt);
    assert.deepEqual(
      manifest.derived.map(({ sandboxId, lineage, needsSnapshot }) => ({
        sandboxId,
        lineage,
        needsSnapshot,
      })),
      [{ sandboxId: derived, lineage: 'branch', needsSnapshot: true }],
    );
    assert.deepEqual(
      [manifest.imported, manifest.removal, manifest.dependents],
      [false, undefined, [derived]],
    );
  });
});

describe('a restored sandbox', () => {
  test('is a dependent of its snapshot until its own first snapshot', async () => {
    const ref = await world.snapshot(origin);
    const one = (await world.restore(ref)).ref.sandboxId;
    const two = (await world.branch(ref)).ref.sandboxId;
    assert.deepEqual((await world.get(ref)).dependents, [two, one].sort());
    await world.snapshot(one);
    await until(async () => (await world.get(ref)).dependents.length === 1);
    assert.deepEqual((await world.get(ref)).dependents, [two]);
  });

  test('counts as a use of its snapshot, from which the expiration is counted', async () => {
    const ref = await world.snapshot(origin, { expirationSeconds: 3600 });
    const { sandboxId } = (await world.restore(ref)).ref;
    const needed = await world.get(ref);
    assert.ok(needed.lastUsedAt > ref.ref.createdAt);
    assert.equal(needed.expiresAt, undefined, 'it does not expire while it has a dependent');
    await world.snapshot(sandboxId);
    await until(async () => (await world.get(ref)).expiresAt !== undefined);
    const { lastUsedAt, expiresAt = '' } = await world.get(ref);
    assert.equal(Date.parse(expiresAt) - Date.parse(lastUsedAt), 3600_000);
  });
});

describe('a lineage scope', () => {
  let ref: SnapshotRef;
  beforeEach(async () => {
    ref = await world.snapshot(origin, { label: 'own-label' });
  });

  for (const transport of ['rpc', 'http'] as const) {
    test(`of another lineage is refused without allowCrossLineage, over ${transport}`, async () => {
      const selection = { sandboxId: origin, snapshotId: ref.ref.snapshotId };
      const calls: Record<string, object> = {
        restore: { ref },
        branch: { ref },
        get: selection,
        manifest: { sandboxId: origin, label: 'own-label' },
        verify: { ref },
        label: { ref, newLabel: 'other' },
        pin: { ref },
        unpin: { ref },
        list: { sandboxId: origin },
        lineage: { sandboxId: origin },
        retention: { sandboxId: origin },
        delete: { ref },
      };
      const lineageScope = `another-${transport}`;
      const stateBefore = [await world.objects(), world.running(), await world.labels(origin)];
      for (const [method, options] of Object.entries(calls)) {
        const error = await world.failure(world[transport](method, { ...options, lineageScope }));
        assert.deepEqual([error.code, error.kind], ['CROSS_LINEAGE', 'policy_denied'], method);
        assert.match(error.message, new RegExp(`"${lineageScope}".*"${origin}"`));
        const denied = { ...options, lineageScope, allowCrossLineage: false };
        assert.equal(await code(world[transport](method, denied)), 'CROSS_LINEAGE', method);
      }
      assert.deepEqual([await world.objects(), world.running(), await world.labels(origin)], stateBefore);
      for (const [method, options] of Object.entries(calls)) {
        const allowed = { ...options, lineageScope, allowCrossLineage: true };
        if (method === 'delete') Object.assign(allowed, { force: true });
        await world[transport](method, allowed);
      }
    });
  }

  test('can be any sandbox of the lineage', async () => {
    const restored = (await world.restore(ref)).ref.sandboxId;
    const again = (await world.restore(await world.snapshot(restored))).ref.sandboxId;
    for (const lineageScope of [origin, restored, again]) {
      assert.equal((await world.rpc('list', { sandboxId: origin, lineageScope })).snapshots.length, 1);
      assert.equal((await world.rpc('get', { ref, lineageScope })).label, 'own-label');
    }
    assert.equal((await world.rpc('list', { sandboxId: again, lineageScope: origin })).snapshots.length, 0);
  });

  test('of a sandbox with a shortened id is resolved by its Workspace object', async () => {
    const root = 'y'.repeat(63);
    await world.exec(root, 'echo x > file');
    const long = await world.snapshot(root);
    const lineageScope = (await world.restore(long)).ref.sandboxId;
    assert.ok(!lineageScope.startsWith(root));
    assert.equal((await world.rpc('list', { sandboxId: root, lineageScope })).snapshots.length, 1);
    assert.equal(await code(world.rpc('get', { ref, lineageScope })), 'CROSS_LINEAGE');
  });
});

describe('a rotated key', () => {
  for (const transport of ['rpc', 'http'] as const) {
    test(`signs later refs, and refs of the previous key stay valid, over ${transport}`, async () => {
      const first = await world.snapshot(origin);
      assert.deepEqual(await world[transport]('rotateKey', { sandboxId: origin }), { key: 2, previous: 1 });
      const second = await world.snapshot(origin);
      await world.get(first);
      assert.deepEqual(await world[transport]('rotateKey', { sandboxId: origin }), { key: 3, previous: 2 });
      await world.get(second);
      assert.equal(await code(world.restore(first)), 'REF_MISMATCH');
      const { ref } = await world.rpc('get', { sandboxId: origin, snapshotId: first.ref.snapshotId });
      assert.notEqual(ref.ref.signature, first.ref.signature);
      await world.assertRestores(ref, 'cat file', 'x\n');
    });
  }

  test('does not verify refs of another sandbox', async () => {
    await world.exec('other', 'echo x > file');
    const [own, other] = [await world.snapshot(origin), await world.snapshot('other')];
    own.ref.signature = other.ref.signature;
    assert.equal(await code(world.restore(own)), 'REF_MISMATCH');
    other.ref.originId = origin;
    assert.equal(await code(world.restore(other)), 'REF_MISMATCH');
  });
});
