// Invalid input to every operation: the error has a code, and nothing changes.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { World } from './world.ts';
import type { SnapshotRef } from '../client/src/index.ts';

/** What each operation acts on, and other options with valid values. */
const OPERATIONS: Record<
  string,
  { of: 'snapshot' | 'sandbox' | 'neither'; accepts: Record<string, unknown> }
> = {
  snapshot: {
    of: 'sandbox',
    accepts: {
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
  restore: { of: 'snapshot', accepts: { idempotencyKey: 'key', lineageScope: 'origin' } },
  branch: { of: 'snapshot', accepts: { idempotencyKey: 'key', allowCrossLineage: true } },
  list: {
    of: 'sandbox',
    accepts: { limit: 10, labelPrefix: 'a', check: false, lineageScope: 'origin', allowCrossLineage: false },
  },
  get: { of: 'snapshot', accepts: { lineageScope: 'origin', allowCrossLineage: false } },
  manifest: { of: 'snapshot', accepts: { lineageScope: 'origin' } },
  verify: { of: 'snapshot', accepts: { lineageScope: 'origin' } },
  label: { of: 'snapshot', accepts: { newLabel: 'new', replace: false, lineageScope: 'origin' } },
  pin: { of: 'snapshot', accepts: { lineageScope: 'origin' } },
  unpin: { of: 'snapshot', accepts: { lineageScope: 'origin' } },
  delete: { of: 'snapshot', accepts: { force: true, lineageScope: 'origin' } },
  import: {
    of: 'sandbox',
    accepts: {
      backup: { id: '00000000-0000-4000-8000-000000000000', dir: '/workspace' },
      label: 'new',
      replace: false,
      expirationSeconds: 60,
    },
  },
  lineage: { of: 'sandbox', accepts: { lineageScope: 'origin', allowCrossLineage: false } },
  retention: { of: 'sandbox', accepts: { lineageScope: 'origin' } },
  setRetention: {
    of: 'sandbox',
    accepts: {
      policy: {
        keepLast: { count: 1, expirationSeconds: 60, deleteEvicted: true },
        expirationSeconds: 60,
        keepDaily: 1,
        keepWeekly: 1,
      },
      dryRun: false,
    },
  },
  applyRetention: { of: 'sandbox', accepts: { dryRun: false } },
  rotateKey: { of: 'sandbox', accepts: { lineageScope: 'origin' } },
  sweep: { of: 'neither', accepts: { dryRun: false, graceSeconds: 0 } },
  health: { of: 'neither', accepts: {} },
};

/** Invalid values of options, by the name of the option, with the error codes. */
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
let stateBefore: unknown;

before(async () => {
  world = await World.start();
  await world.exec('origin', 'echo x > file');
  ref = await world.snapshot('origin', { label: 'existing' });
  await world.restore(ref);
  stateBefore = await readState();
});
after(() => world[Symbol.asyncDispose]());

/** Returns everything that a call could change. */
async function readState() {
  const { snapshots } = await world.list('origin');
  const rows = snapshots.map(({ ageSeconds, checkedAt, ...row }) => row);
  const { policy } = await world.rpc('retention', { sandboxId: 'origin' });
  return { objects: await world.objects(), running: world.running(), rows, policy };
}

/** Asserts that a call fails with a code over both transports, with the same message and every member of an error. */
async function assertRefused(method: string, options: unknown, code: string) {
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
  assert.ok(rpc.message.includes(http.message), 'both transports return the same message');
}

/** Returns a valid sandbox or snapshot for an operation, so that only its other options can be invalid. */
const subject = (of: string) => ({ snapshot: { ref }, sandbox: { sandboxId: 'origin' }, neither: {} })[of]!;

test('the table lists every operation of the Worker', async () => {
  const rust = await readFile(new URL('../src/model/operation.rs', import.meta.url), 'utf8');
  const names = [...rust.matchAll(/^ +\w+ = "(\w+)",/gm)].map(([, name]) => name);
  assert.deepEqual(Object.keys(OPERATIONS).sort(), names.sort());
});

for (const [method, { of, accepts }] of Object.entries(OPERATIONS)) {
  describe(method, () => {
    test('refuses arguments that are not an object', async () => {
      for (const options of [null, 7, 'origin', true, [], ['origin']]) {
        await assertRefused(method, options, 'INVALID_ARGUMENT');
      }
      assert.deepEqual(await readState(), stateBefore);
    });

    test('refuses an unknown option', async () => {
      for (const unknown of ['ttl', 'SandboxId', '__proto__x', 'signal2']) {
        await assertRefused(method, { ...subject(of), ...accepts, [unknown]: 1 }, 'INVALID_ARGUMENT');
      }
      assert.deepEqual(await readState(), stateBefore);
    });

    if (of !== 'neither') {
      test('refuses arguments without a sandbox or snapshot', async () => {
        await assertRefused(method, {}, 'INVALID_ARGUMENT');
        await assertRefused(method, accepts, 'INVALID_ARGUMENT');
        assert.deepEqual(await readState(), stateBefore);
      });
    }

    if (of === 'snapshot') {
      test('refuses an incomplete or ambiguous selection', async () => {
        const id = ref.ref.snapshotId;
        const selections: [object, string][] = [
          [{ sandboxId: 'origin' }, 'INVALID_ARGUMENT'],
          [{ snapshotId: id }, 'INVALID_ARGUMENT'],
          [{ label: 'existing' }, 'INVALID_ARGUMENT'],
          [{ ref, sandboxId: 'origin' }, 'INVALID_ARGUMENT'],
          [{ ref, snapshotId: id }, 'INVALID_ARGUMENT'],
          [{ sandboxId: 'origin', snapshotId: id, label: 'existing' }, 'INVALID_ARGUMENT'],
          [{ sandboxId: 'origin', snapshotId: 'snap-1' }, 'INVALID_REF'],
          [{ sandboxId: 'origin', snapshotId: 'snap-0000000000000000' }, 'SNAPSHOT_NOT_FOUND'],
          [{ sandboxId: 'another', snapshotId: id }, 'SNAPSHOT_NOT_FOUND'],
          [{ sandboxId: 'origin', label: 'missing' }, 'SNAPSHOT_NOT_FOUND'],
        ];
        const { lineageScope, ...others } = accepts;
        for (const [selection, code] of selections)
          await assertRefused(method, { ...others, ...selection }, code);
        assert.deepEqual(await readState(), stateBefore);
      });

      test('refuses a ref that is forged, altered, foreign or malformed', async () => {
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
          // This ref selects the ledger of another sandbox, which is outside the lineage scope.
          [
            altered(({ ref }) => (ref.originId = 'another')),
            'lineageScope' in accepts ? 'CROSS_LINEAGE' : 'REF_MISMATCH',
          ],
          [altered(({ ref }) => (ref.rootId = 'another')), 'REF_MISMATCH'],
          [altered(({ ref }) => (ref.backup.id = 'another')), 'REF_MISMATCH'],
          [altered(({ ref }) => (ref.createdAt = '2020-01-01T00:00:00.000Z')), 'REF_MISMATCH'],
        ];
        for (const [forged, code] of refs) await assertRefused(method, { ...accepts, ref: forged }, code);
        assert.deepEqual(await readState(), stateBefore);
      });
    }

    const options = Object.keys({ ...subject(of), ...accepts, ...(method === 'list' ? { cursor: '' } : {}) });
    const validated = options.filter(
      (option) => option in VALUES && !(of === 'snapshot' && option === 'label'),
    );
    if (validated.length > 0) {
      test(`refuses invalid values of ${validated.join(', ')}`, async () => {
        for (const option of validated) {
          for (const [value, code] of VALUES[option]!) {
            await assertRefused(method, { ...subject(of), ...accepts, [option]: value }, code);
          }
        }
        assert.deepEqual(await readState(), stateBefore);
      });
    }
  });
}

test('a refused call does not use its idempotency key', async () => {
  const key = { idempotencyKey: 'key' };
  await world.rpc('restore', { ref, ...key });
  assert.equal((await world.failure(world.snapshot('origin', key))).code, 'IDEMPOTENCY_CONFLICT');
});
