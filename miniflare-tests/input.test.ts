// Bad input, at every operation: a clear error, and nothing changed.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { World } from './world.ts';
import type { SnapshotRef } from '../client/src/index.ts';

/** What each operation is given: a snapshot, a sandbox, or neither; and arguments that it would take. */
const OPERATIONS: Record<string, { of: 'snapshot' | 'sandbox' | 'neither'; takes: Record<string, unknown> }> =
  {
    snapshot: {
      of: 'sandbox',
      takes: {
        dir: '/workspace',
        label: 'new',
        replace: false,
        expirationSeconds: 60,
        excludes: ['*.log'],
        gitignore: true,
        compression: { format: 'zstd', threads: 1 },
        wake: false,
        fresh: true,
        idempotencyKey: 'key',
      },
    },
    restore: { of: 'snapshot', takes: { idempotencyKey: 'key', lineageScope: 'origin' } },
    branch: { of: 'snapshot', takes: { idempotencyKey: 'key', allowCrossLineage: true } },
    list: {
      of: 'sandbox',
      takes: { limit: 10, labelPrefix: 'a', check: false, lineageScope: 'origin', allowCrossLineage: false },
    },
    get: { of: 'snapshot', takes: { lineageScope: 'origin', allowCrossLineage: false } },
    manifest: { of: 'snapshot', takes: { lineageScope: 'origin' } },
    verify: { of: 'snapshot', takes: { lineageScope: 'origin' } },
    label: { of: 'snapshot', takes: { newLabel: 'new', replace: false, lineageScope: 'origin' } },
    pin: { of: 'snapshot', takes: { lineageScope: 'origin' } },
    unpin: { of: 'snapshot', takes: { lineageScope: 'origin' } },
    delete: { of: 'snapshot', takes: { force: true, lineageScope: 'origin' } },
    import: {
      of: 'sandbox',
      takes: {
        backup: { id: '00000000-0000-4000-8000-000000000000', dir: '/workspace' },
        label: 'new',
        replace: false,
        expirationSeconds: 60,
      },
    },
    lineage: { of: 'sandbox', takes: { lineageScope: 'origin', allowCrossLineage: false } },
    retention: { of: 'sandbox', takes: { lineageScope: 'origin' } },
    setRetention: {
      of: 'sandbox',
      takes: {
        policy: {
          keepLast: { count: 1, expirationSeconds: 60, deleteEvicted: true },
          expirationSeconds: 60,
          keepDaily: 1,
          keepWeekly: 1,
        },
        dryRun: false,
      },
    },
    applyRetention: { of: 'sandbox', takes: { dryRun: false } },
    rotateKey: { of: 'sandbox', takes: { lineageScope: 'origin' } },
    sweep: { of: 'neither', takes: { dryRun: false, graceSeconds: 0 } },
    health: { of: 'neither', takes: {} },
  };

/** What is wrong with a value of an option, by the option's name: the value, and the code that it is refused by. */
const VALUES: Record<string, [unknown, string][]> = {
  sandboxId: [
    [7, 'INVALID_ARGUMENT'],
    [['origin'], 'INVALID_ARGUMENT'],
    ['', 'INVALID_SANDBOX_ID'],
    ['-origin', 'INVALID_SANDBOX_ID'],
    ['x'.repeat(64), 'INVALID_SANDBOX_ID'],
    ['origin\n', 'INVALID_SANDBOX_ID'],
  ],
  lineageScope: [
    [7, 'INVALID_ARGUMENT'],
    ['', 'INVALID_SANDBOX_ID'],
    ['x'.repeat(64), 'INVALID_SANDBOX_ID'],
  ],
  dir: [
    [7, 'INVALID_ARGUMENT'],
    ['/etc', 'INVALID_DIRECTORY'],
  ],
  label: [
    [7, 'INVALID_ARGUMENT'],
    ['', 'INVALID_LABEL'],
    ['x'.repeat(129), 'INVALID_LABEL'],
  ],
  newLabel: [
    [undefined, 'INVALID_ARGUMENT'],
    [7, 'INVALID_ARGUMENT'],
    [' x', 'INVALID_LABEL'],
  ],
  idempotencyKey: [
    [7, 'INVALID_ARGUMENT'],
    ['', 'INVALID_ARGUMENT'],
    ['x'.repeat(129), 'INVALID_ARGUMENT'],
    ['a\u0000', 'INVALID_ARGUMENT'],
  ],
  limit: [0, -1, 101, 1.5, '10', 1e100].map((value) => [value, 'INVALID_ARGUMENT']),
  cursor: ['', 'x', 'bm90IGEgY3Vyc29y', 'MSBzbmFwLTAwMA', 7].map((value) => [value, 'INVALID_ARGUMENT']),
  labelPrefix: [
    [7, 'INVALID_ARGUMENT'],
    ['x'.repeat(129), 'INVALID_ARGUMENT'],
  ],
  expirationSeconds: [59, -1, 0.5, 1e12, '60'].map((value) => [value, 'INVALID_ARGUMENT']),
  excludes: ['*.log', [7], [''], ['a\nb']].map((value) => [value, 'INVALID_ARGUMENT']),
  compression: ['zstd', [], { format: 'brotli' }, { threads: 0 }, { level: 9 }].map((value) => [
    value,
    'INVALID_ARGUMENT',
  ]),
  backup: [undefined, 7, 'x', []].map((value) => [value, 'INVALID_ARGUMENT']),
  policy: [
    undefined,
    7,
    { keep: 1 },
    { keepLast: 3 },
    { keepLast: {} },
    { keepLast: { count: 0 } },
    { keepLast: { count: -1 } },
    { keepLast: { count: 10_001 } },
    { keepLast: { count: 1, expirationSeconds: 1e12 } },
    { keepLast: { count: 1, keep: true } },
    { expirationSeconds: -1 },
    { expirationSeconds: 1e12 },
    { keepDaily: 1.5 },
    { keepWeekly: 10_001 },
  ].map((value) => [value, 'INVALID_ARGUMENT']),
  graceSeconds: [-1, 0.5, '0'].map((value) => [value, 'INVALID_ARGUMENT']),
};
for (const flag of [
  'replace',
  'gitignore',
  'wake',
  'fresh',
  'force',
  'check',
  'dryRun',
  'allowCrossLineage',
]) {
  VALUES[flag] = [
    ['yes', 'INVALID_ARGUMENT'],
    [1, 'INVALID_ARGUMENT'],
  ];
}

let world: World;
let ref: SnapshotRef;
let untouched: unknown;

before(async () => {
  world = await World.start();
  await world.exec('origin', 'echo x > file');
  ref = await world.snapshot('origin', { label: 'there' });
  await world.restore(ref);
  untouched = await everything();
});
after(() => world[Symbol.asyncDispose]());

/** All that a call could have changed. */
async function everything() {
  const { snapshots } = await world.list('origin');
  const rows = snapshots.map(({ ageSeconds, checkedAt, ...row }) => row);
  const { policy } = await world.rpc('retention', { sandboxId: 'origin' });
  return { objects: await world.objects(), running: world.running(), rows, policy };
}

/** The call fails with the code, over both transports and in the same words, and with all that an error has to have. */
async function refused(method: string, options: unknown, code: string) {
  const what = `${method} of ${JSON.stringify(options)?.slice(0, 200)}`;
  const rpc = await world.failure(world.rpc(method, options));
  const http = await world.failure(world.http(method, options));
  for (const error of [rpc, http]) {
    assert.equal(error.code, code, `${what}: ${error.message}`);
    assert.ok(error.kind && error.message && error.remediation, what);
    assert.equal(error.retryable, false, what);
    assert.match(error.correlationId ?? '', /^[0-9a-f]{16}$/, what);
  }
  assert.ok(rpc.message.startsWith(`${code}: `), rpc.message);
  assert.ok(rpc.message.includes(http.message), 'both say the same');
}

/** What the operation is about, so that only the rest of its arguments can be wrong. */
const subject = (of: string) => ({ snapshot: { ref }, sandbox: { sandboxId: 'origin' }, neither: {} })[of]!;

test('the table has every operation that the Worker has', async () => {
  const rust = await readFile(new URL('../src/api/operations.rs', import.meta.url), 'utf8');
  const names = [...rust.matchAll(/^ {4}\w+ = "(\w+)";$/gm)].map(([, name]) => name);
  assert.deepEqual(Object.keys(OPERATIONS).sort(), names.sort());
});

for (const [method, { of, takes }] of Object.entries(OPERATIONS)) {
  describe(method, () => {
    test('refuses what is no object', async () => {
      for (const options of [null, 7, 'origin', true, [], ['origin']]) {
        await refused(method, options, 'INVALID_ARGUMENT');
      }
      assert.deepEqual(await everything(), untouched);
    });

    test('refuses an option that it does not know', async () => {
      for (const unknown of ['ttl', 'SandboxId', '__proto__x', 'signal2']) {
        await refused(method, { ...subject(of), ...takes, [unknown]: 1 }, 'INVALID_ARGUMENT');
      }
      assert.deepEqual(await everything(), untouched);
    });

    if (of !== 'neither') {
      test('refuses to guess what it is about', async () => {
        await refused(method, {}, 'INVALID_ARGUMENT');
        await refused(method, takes, 'INVALID_ARGUMENT');
        assert.deepEqual(await everything(), untouched);
      });
    }

    if (of === 'snapshot') {
      test('refuses a selection that is none, or two', async () => {
        const id = ref.ref.snapshotId;
        const selections: [object, string][] = [
          [{ sandboxId: 'origin' }, 'INVALID_ARGUMENT'],
          [{ snapshotId: id }, 'INVALID_ARGUMENT'],
          [{ label: 'there' }, 'INVALID_ARGUMENT'],
          [{ ref, sandboxId: 'origin' }, 'INVALID_ARGUMENT'],
          [{ ref, snapshotId: id }, 'INVALID_ARGUMENT'],
          [{ sandboxId: 'origin', snapshotId: id, label: 'there' }, 'INVALID_ARGUMENT'],
          [{ sandboxId: 'origin', snapshotId: 'snap-1' }, 'INVALID_REF'],
          [{ sandboxId: 'origin', snapshotId: 'snap-0000000000000000' }, 'SNAPSHOT_NOT_FOUND'],
          [{ sandboxId: 'another', snapshotId: id }, 'SNAPSHOT_NOT_FOUND'],
          [{ sandboxId: 'origin', label: 'not there' }, 'SNAPSHOT_NOT_FOUND'],
        ];
        const { lineageScope, ...others } = takes;
        for (const [selection, code] of selections) await refused(method, { ...others, ...selection }, code);
        assert.deepEqual(await everything(), untouched);
      });

      test('refuses a ref that is forged, altered, foreign or broken', async () => {
        const altered = (change: (ref: any) => void) => {
          const copy = structuredClone(ref);
          change(copy);
          return copy;
        };
        const refs: [unknown, string][] = [
          ['', 'INVALID_REF'],
          [JSON.stringify(ref), 'INVALID_REF'],
          [{ ...ref, providerId: 'other' }, 'FOREIGN_REF'],
          [altered(({ ref }) => (ref.schemaVersion = 2)), 'UNSUPPORTED_REF_VERSION'],
          [altered(({ ref }) => delete ref.signature), 'INVALID_REF'],
          [altered(({ ref }) => (ref.signature = `${ref.signature}x`)), 'REF_MISMATCH'],
          [altered(({ ref }) => (ref.signature = '')), 'REF_MISMATCH'],
          [altered(({ ref }) => (ref.snapshotId = 'snap-0000000000000000')), 'REF_MISMATCH'],
          // Another sandbox is asked then, and the caller may not ask that.
          [
            altered(({ ref }) => (ref.originId = 'another')),
            'lineageScope' in takes ? 'CROSS_LINEAGE' : 'REF_MISMATCH',
          ],
          [altered(({ ref }) => (ref.rootId = 'another')), 'REF_MISMATCH'],
          [altered(({ ref }) => (ref.backup.id = 'another')), 'REF_MISMATCH'],
          [altered(({ ref }) => (ref.createdAt = '2020-01-01T00:00:00.000Z')), 'REF_MISMATCH'],
        ];
        for (const [forged, code] of refs) await refused(method, { ...takes, ref: forged }, code);
        assert.deepEqual(await everything(), untouched);
      });
    }

    const options = Object.keys({ ...subject(of), ...takes, ...(method === 'list' ? { cursor: '' } : {}) });
    const wrong = options.filter((option) => option in VALUES && !(of === 'snapshot' && option === 'label'));
    if (wrong.length > 0) {
      test(`refuses wrong values of ${wrong.join(', ')}`, async () => {
        for (const option of wrong) {
          for (const [value, code] of VALUES[option]!) {
            await refused(method, { ...subject(of), ...takes, [option]: value }, code);
          }
        }
        assert.deepEqual(await everything(), untouched);
      });
    }
  });
}

test('a call that was refused leaves its idempotency key free', async () => {
  const key = { idempotencyKey: 'key' };
  await world.rpc('restore', { ref, ...key });
  assert.equal((await world.failure(world.snapshot('origin', key))).code, 'IDEMPOTENCY_CONFLICT');
});
