// Invalid arguments of every operation, over both transports: the error is complete, and nothing changes. The tests of the model
// have the invalid values of each option.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import schema from '../client/schema.json' with { type: 'json' };
import { World } from './world.ts';
import type { SnapshotRef } from '../client/src/index.ts';

/** Valid options of the operations on one snapshot, besides the snapshot. */
const SNAPSHOT_OPTIONS: Record<string, Record<string, unknown>> = {
  restore: { onImageChange: 'fail', idempotencyKey: 'key', lineageScope: 'origin' },
  branch: { idempotencyKey: 'key', allowCrossLineage: true },
  get: { lineageScope: 'origin', allowCrossLineage: false },
  manifest: { lineageScope: 'origin' },
  verify: { lineageScope: 'origin' },
  'files/list': { path: '/', lineageScope: 'origin' },
  'files/stat': { path: 'file', lineageScope: 'origin' },
  'files/summary': { path: '/', lineageScope: 'origin' },
  'files/restore': { paths: ['file'], to: 'origin', lineageScope: 'origin' },
  'files/read': { path: 'file', lineageScope: 'origin' },
  label: { newLabel: 'new', replace: false, lineageScope: 'origin' },
  pin: { lineageScope: 'origin' },
  unpin: { lineageScope: 'origin' },
  delete: { force: true, lineageScope: 'origin' },
};

const SANDBOX = { sandboxId: 'origin' };
const WORKSPACE = { name: 'existing', tenant: 'default' };

/** Valid options of the other operations. The tests of checkpoints and of tools have those of their operations. */
const OTHER_OPTIONS: Record<string, Record<string, unknown>> = {
  snapshot: { ...SANDBOX, label: 'new', idempotencyKey: 'key' },
  revive: { ...SANDBOX, onDiverged: 'rescue', onImageChange: 'allow', lineageScope: 'origin' },
  list: { ...SANDBOX, limit: 10 },
  diff: { from: { ...SANDBOX, label: 'kept' }, to: { ...SANDBOX, label: 'kept' } },
  import: { ...SANDBOX, backup: { id: '00000000-0000-4000-8000-000000000000', dir: '/workspace' } },
  lineage: SANDBOX,
  retention: SANDBOX,
  setRetention: { ...SANDBOX, policy: { keepDaily: 1 } },
  applyRetention: SANDBOX,
  rotateKey: SANDBOX,
  'files/write': { ...SANDBOX, path: 'file', content: 'y' },
  'files/mkdir': { ...SANDBOX, path: 'new' },
  'files/move': { ...SANDBOX, path: 'file', to: 'moved' },
  'files/remove': { ...SANDBOX, path: 'file' },
  exec: { ...SANDBOX, command: 'echo x >> file', timeoutSeconds: 10 },
  'commands/start': { ...SANDBOX, command: 'echo x >> file', timeoutSeconds: 10 },
  'commands/list': SANDBOX,
  'commands/output': { ...SANDBOX, commandId: 'k3f9x2ab', waitSeconds: 1 },
  'commands/end': { ...SANDBOX, commandId: 'k3f9x2ab', killSignal: 'INT' },
  sweep: { graceSeconds: 0 },
  usage: {},
  health: {},
  'tokens/create': { permissions: ['read'], tenant: 'default' },
  'tokens/list': { tenant: 'default' },
  'tokens/revoke': { id: 'abcdefghij01', tenant: 'default' },
  'tokens/current': {},
  'workspaces/create': { name: 'new', tenant: 'default', idempotencyKey: 'key' },
  'workspaces/getOrCreate': { name: 'new', tenant: 'default', onDiverged: 'adopt' },
  'workspaces/getByName': WORKSPACE,
  'workspaces/list': { tenant: 'default' },
  'workspaces/start': WORKSPACE,
  'workspaces/stop': WORKSPACE,
  'workspaces/turnEnded': WORKSPACE,
  'workspaces/fork': { ...WORKSPACE, newName: 'new' },
  'workspaces/promote': { ...WORKSPACE, from: 'other' },
  'workspaces/update': { ...WORKSPACE, persistent: true },
  'workspaces/migrate': { ...WORKSPACE, runtime: 'sdk-0.12' },
  'workspaces/delete': WORKSPACE,
};

/** The operations on the files of a snapshot or of a sandbox. */
const READS_SANDBOXES = new Set(['files/list', 'files/stat', 'files/read']);

let world: World;
let ref: SnapshotRef;
let initialState: unknown;

before(async () => {
  world = await World.start();
  await world.exec('origin', 'echo x > file');
  ref = await world.snapshot('origin', { label: 'existing' });
  await world.restore(ref);
  const workspace = world.workspace('existing');
  await workspace.create();
  await workspace.exec('echo x > file');
  await world.snapshot(await workspace.sandboxId());
  initialState = await readState();
});
after(() => world[Symbol.asyncDispose]());

/** Returns everything that a call could change. */
async function readState() {
  const { snapshots } = await world.list('origin');
  return {
    objects: await world.objects(),
    running: world.running(),
    rows: snapshots.map(({ ageSeconds, checkedAt, ...row }) => row),
    retention: (await world.rpc('retention', { sandboxId: 'origin' })).policy,
    lists: await Promise.all(['default', 'other'].map((tenant) => world.rpc('workspaces/list', { tenant }))),
    workspace: await world.workspace('existing').describe(),
  };
}

/** Asserts that a call fails with a code over both transports, with the same message and every member of an error. */
async function assertRefused(operation: string, options: unknown, code: string) {
  const what = `${operation} of ${JSON.stringify(options)?.slice(0, 200)}`;
  const rpc = await world.failure(world.rpc(operation, options));
  const http = await world.failure(world.http(operation, options));
  for (const error of [rpc, http]) {
    assert.equal(error.code, code, `${what}: ${error.message}`);
    assert.ok(error.kind && error.message && error.remediation, what);
    assert.equal(error.retryable, false, what);
    assert.match(error.correlationId ?? '', /^[0-9a-f]{16}$/, what);
  }
  assert.ok(rpc.message.startsWith(`${code}: `), rpc.message);
  assert.ok(rpc.message.includes(http.message), 'both transports return the same message');
}

test('the tables list every operation of the Worker', () => {
  const names = schema.operations
    .map(({ name }) => name)
    .filter((name) => !/^(checkpoints|tools)\//.test(name));
  assert.deepEqual(Object.keys({ ...SNAPSHOT_OPTIONS, ...OTHER_OPTIONS }).sort(), names.sort());
});

for (const [operation, options] of Object.entries({ ...SNAPSHOT_OPTIONS, ...OTHER_OPTIONS })) {
  describe(operation, () => {
    test('refuses arguments that are not an object', async () => {
      for (const value of [null, 7, 'origin', true, [], ['origin']])
        await assertRefused(operation, value, 'INVALID_ARGUMENT');
      assert.deepEqual(await readState(), initialState);
    });

    test('refuses an unknown option', async () => {
      const subject = operation in SNAPSHOT_OPTIONS ? { ref } : {};
      for (const unknown of ['ttl', 'SandboxId', '__proto__x', 'signal2'])
        await assertRefused(operation, { ...subject, ...options, [unknown]: 1 }, 'INVALID_ARGUMENT');
      assert.deepEqual(await readState(), initialState);
    });

    if (operation in SNAPSHOT_OPTIONS) {
      test('refuses a selection of a snapshot that does not exist', async () => {
        const id = ref.ref.snapshotId;
        const selections: [object, string][] = [
          // Without a snapshot, this selects the files of the sandbox itself.
          ...(READS_SANDBOXES.has(operation)
            ? []
            : ([[{ sandboxId: 'origin' }, 'INVALID_ARGUMENT']] as [object, string][])),
          [{ ref, sandboxId: 'origin' }, 'INVALID_ARGUMENT'],
          [{ sandboxId: 'origin', snapshotId: 'snap-0000000000000000' }, 'SNAPSHOT_NOT_FOUND'],
          [{ sandboxId: 'another', snapshotId: id }, 'SNAPSHOT_NOT_FOUND'],
          [{ sandboxId: 'origin', label: 'missing' }, 'SNAPSHOT_NOT_FOUND'],
        ];
        const { lineageScope, ...others } = options;
        for (const [selection, code] of selections)
          await assertRefused(operation, { ...others, ...selection }, code);
        assert.deepEqual(await readState(), initialState);
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
            'lineageScope' in options ? 'CROSS_LINEAGE' : 'REF_MISMATCH',
          ],
          [altered(({ ref }) => (ref.rootId = 'another')), 'REF_MISMATCH'],
          [altered(({ ref }) => (ref.backup.id = 'another')), 'REF_MISMATCH'],
          [altered(({ ref }) => (ref.createdAt = '2020-01-01T00:00:00.000Z')), 'REF_MISMATCH'],
          [altered(({ ref }) => (ref.backup.dir = '/home')), 'REF_MISMATCH'],
          [altered(({ ref }) => (ref.backup.localBucket = false)), 'REF_MISMATCH'],
          [altered(({ ref }) => (ref.backup.id = '../../x')), 'INVALID_REF'],
          [altered(({ ref }) => (ref.note = 'x')), 'INVALID_REF'],
          [altered(({ ref }) => (ref.snapshotId = ref.snapshotId.slice(0, 9))), 'INVALID_REF'],
          [altered(({ ref }) => (ref.createdAt = ref.createdAt.replace('Z', '+00:00'))), 'INVALID_REF'],
        ];
        for (const [forged, code] of refs) await assertRefused(operation, { ...options, ref: forged }, code);
        assert.deepEqual(await readState(), initialState);
      });
    }
  });
}

test('a misspelled option is named together with the one that is missing', async () => {
  for (const transport of ['rpc', 'http'] as const) {
    const error = await world.failure(world[transport]('snapshot', { sandboxID: 'origin' }));
    assert.ok(
      error.message.includes('No workspace or sandbox is selected, and there is no option "sandboxID".'),
      error.message,
    );
    const page = '/docs/snapshots#v1-snapshot describes the options.';
    assert.equal(error.remediation, `Did you mean \`sandboxId\`? ${page}`);
  }
});

test('a body that is too large is refused', async () => {
  const env = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`A${index}`, 'x'.repeat(1000)]));
  await assertRefused('workspaces/create', { name: 'new', env }, 'PAYLOAD_TOO_LARGE');
  assert.deepEqual(await readState(), initialState);
});

test('the status of an HTTP response reflects the kind of the error', async () => {
  const status = async (operation: string, options: object) =>
    (await world.fetch(`/v1/workspaces/${operation}`, { body: JSON.stringify(options) })).status;
  assert.deepEqual(
    await Promise.all([
      status('getByName', { name: 'existing' }),
      status('getByName', { name: 'missing' }),
      status('create', { name: 'existing' }),
      status('create', { name: '-' }),
      status('stop', { name: 'existing', memory: true }),
    ]),
    [200, 404, 409, 400, 501],
  );
});

test('an operation is called by its name, and with POST only', async () => {
  const status = async (path: string, init = {}) => (await world.fetch(path, { body: '{}', ...init })).status;
  assert.deepEqual(
    await Promise.all([
      status('/v1/workspaces/list'),
      status('/v1/workspaces'),
      status('/v1/workspaces/'),
      status('/v1/workspaces/nothing'),
      status('/v1/getByName'),
      status('/v1/workspaces/list', { method: 'PUT' }),
      status('/v1/workspaces/list', { headers: { 'content-type': 'application/json' } }),
    ]),
    [200, 404, 404, 404, 404, 405, 401],
  );
  assert.deepEqual(await readState(), initialState);
});

// Last, because it changes the state.
test('a refused call does not use its idempotency key', async () => {
  const key = { idempotencyKey: 'key' };
  await world.rpc('restore', { ref, ...key });
  assert.equal((await world.failure(world.snapshot('origin', key))).code, 'IDEMPOTENCY_CONFLICT');
});
