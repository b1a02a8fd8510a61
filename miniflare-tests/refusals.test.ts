// Refused calls: each has its error code, and changes nothing.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { World } from './world.ts';
import type { SnapshotRef } from '../client/src/index.ts';

describe('an invalid call:', () => {
  let world: World;
  let ref: SnapshotRef;
  let stateBefore: { objects: string[]; running: string[] };

  before(async () => {
    world = await World.start();
    await world.exec('origin', 'echo good > file');
    ref = await world.snapshot('origin');
    stateBefore = { objects: await world.objects(), running: world.running() };
  });
  after(() => world[Symbol.asyncDispose]());

  /** Asserts that a call fails with a code over both transports, with the same message, and changes nothing. */
  async function assertRefused(method: string, options: unknown, code: string) {
    const [rpc, http] = [
      await world.failure(world.rpc(method, options)),
      await world.failure(world.http(method, options)),
    ];
    assert.deepEqual([rpc.code, http.code], [code, code], rpc.message);
    assert.deepEqual(rpc.remediation, http.remediation);
    assert.ok(rpc.message.includes(http.message));
    assert.deepEqual({ objects: await world.objects(), running: world.running() }, stateBefore);
  }

  const IDS = {
    'no characters': '',
    '64 characters': 'x'.repeat(64),
    'a hyphen in front': '-a',
    'a hyphen at the end': 'a-',
    'a reserved name': 'Admin',
    'a line break': 'a\nb',
  };
  for (const [what, sandboxId] of Object.entries(IDS)) {
    test(`a sandbox id of ${what} is refused`, () =>
      assertRefused('snapshot', { sandboxId }, 'INVALID_SANDBOX_ID'));
  }

  const DIRECTORIES = {
    'is relative': 'workspace',
    'has a parent segment': '/workspace/../etc',
    'is outside the roots': '/etc',
    'has a root as a prefix of its name': '/workspaces',
    'is empty': '',
  };
  for (const [what, dir] of Object.entries(DIRECTORIES)) {
    test(`a directory that ${what} is refused`, () =>
      assertRefused('snapshot', { sandboxId: 'origin', dir }, 'INVALID_DIRECTORY'));
  }

  const LABELS = {
    'is empty': '',
    'has a control character': 'a\u0007',
    'is too long': 'x'.repeat(129),
    'ends in a blank': 'a ',
  };
  for (const [what, label] of Object.entries(LABELS)) {
    test(`a label that ${what} is refused`, () =>
      assertRefused('snapshot', { sandboxId: 'origin', label }, 'INVALID_LABEL'));
  }

  const ARGUMENTS = {
    'no object': 'origin',
    'no sandbox id': {},
    'an unknown option': { sandboxId: 'origin', directory: '/workspace' },
    'a wrong type': { sandboxId: 'origin', excludes: 'node_modules' },
    'a time to live of the SDK': { sandboxId: 'origin', ttl: 3600 },
    'an expiration of less than a minute': { sandboxId: 'origin', expirationSeconds: 59 },
    'an expiration of more than a hundred years': { sandboxId: 'origin', expirationSeconds: 4e9 },
    'replace but no label': { sandboxId: 'origin', replace: true },
    'an empty idempotency key': { sandboxId: 'origin', idempotencyKey: '' },
    'an unknown compression': { sandboxId: 'origin', compression: { format: 'brotli' } },
  };
  for (const [what, options] of Object.entries(ARGUMENTS)) {
    test(`a call with ${what} is refused`, () => assertRefused('snapshot', options, 'INVALID_ARGUMENT'));
  }

  test('a snapshot of a sandbox that never ran is refused', () =>
    assertRefused('snapshot', { sandboxId: 'never-ran' }, 'SANDBOX_NOT_RUNNING'));

  for (const method of ['restore', 'branch']) {
    /** Returns a changed copy of the ref. */
    const changed = (change: (ref: any) => void) => {
      const copy = structuredClone(ref);
      change(copy);
      return copy;
    };
    const REFS: Record<string, [string, (ref: any) => void]> = {
      'of another provider': ['FOREIGN_REF', (ref) => (ref.providerId = 'codesandbox')],
      'of a later version': ['UNSUPPORTED_REF_VERSION', (ref) => (ref.ref.schemaVersion = 2)],
      'with an additional field': ['INVALID_REF', (ref) => (ref.ref.note = 'x')],
      'with a field missing': ['INVALID_REF', (ref) => delete ref.ref.originId],
      'with a truncated snapshot id': [
        'INVALID_REF',
        (ref) => (ref.ref.snapshotId = ref.ref.snapshotId.slice(0, 9)),
      ],
      'with a backup id that is a path': ['INVALID_REF', (ref) => (ref.ref.backup.id = '../../x')],
      'with another snapshot id': ['REF_MISMATCH', (ref) => (ref.ref.snapshotId = 'snap-0000000000000000')],
      'with another origin': ['REF_MISMATCH', (ref) => (ref.ref.originId = 'another')],
      'with another root': ['REF_MISMATCH', (ref) => (ref.ref.rootId = 'another')],
      'with another directory': ['REF_MISMATCH', (ref) => (ref.ref.backup.dir = '/home')],
      'with another time': ['REF_MISMATCH', (ref) => (ref.ref.createdAt = '2020-01-01T00:00:00.000Z')],
      'of another backup': [
        'REF_MISMATCH',
        (ref) => (ref.ref.backup.id = '00000000-0000-4000-8000-000000000000'),
      ],
      'with an additional field in the backup': [
        'REF_MISMATCH',
        (ref) => (ref.ref.backup.localBucket = false),
      ],
      'without a signature': ['INVALID_REF', (ref) => delete ref.ref.signature],
      'with an empty signature': ['REF_MISMATCH', (ref) => (ref.ref.signature = '')],
      'with the signature of another time': [
        'REF_MISMATCH',
        (ref) => (ref.ref.signature = [...ref.ref.signature].reverse().join('')),
      ],
      'with a time in another notation': [
        'INVALID_REF',
        (ref) => (ref.ref.createdAt = ref.ref.createdAt.replace('Z', '+00:00')),
      ],
    };
    for (const [what, [code, change]] of Object.entries(REFS)) {
      test(`${method} refuses a ref ${what}`, () => assertRefused(method, { ref: changed(change) }, code));
    }
    test(`${method} refuses a truncated ref`, () =>
      assertRefused(method, { ref: JSON.stringify(ref).slice(0, -9) }, 'INVALID_REF'));
    test(`${method} refuses a call without a ref`, () => assertRefused(method, {}, 'INVALID_ARGUMENT'));
  }
});

describe('a backup of the application', () => {
  test('cannot be restored by a forged ref', async () => {
    await using world = await World.start();
    await world.exec('own', 'echo x > file');
    const ref = await world.snapshot('own');
    const backup = await world.backUp('own');
    const forged = structuredClone(ref);
    forged.ref.backup = backup;
    assert.equal((await world.failure(world.restore(forged))).code, 'REF_MISMATCH');
  });
});

describe('a call to an invalid deployment', () => {
  test('without an R2 binding fails with an error that shows the binding for wrangler.toml, and starts no sandbox', async () => {
    await using world = await World.start({ snapshotter: { without: ['BACKUP_BUCKET'] } });
    const error = await world.failure(world.snapshot('origin'));
    assert.equal(error.code, 'R2_BINDING_MISSING');
    assert.match(error.message, /^R2_BINDING_MISSING: .*"BACKUP_BUCKET"/);
    assert.match(error.remediation ?? '', /\[\[r2_buckets\]\]\nbinding = "BACKUP_BUCKET"/);
    assert.deepEqual(world.running(), []);
  });

  test('without an R2 binding fails before its arguments are checked', async () => {
    await using world = await World.start({ snapshotter: { without: ['BACKUP_BUCKET', 'Sandbox'] } });
    for (const method of ['snapshot', 'restore', 'branch']) {
      assert.equal((await world.failure(world.rpc(method, 'nonsense'))).code, 'R2_BINDING_MISSING');
    }
  });

  test('with another configured R2 binding fails with an error that names that binding', async () => {
    const vars = { BACKUP_R2_BINDING: 'SNAPSHOTS' };
    await using world = await World.start({ snapshotter: { vars } });
    assert.match((await world.failure(world.snapshot('origin'))).message, /"SNAPSHOTS"/);
  });

  test('without a binding of sandboxes fails with an error that shows the binding for wrangler.toml', async () => {
    await using world = await World.start({ snapshotter: { without: ['Sandbox'] } });
    const error = await world.failure(world.snapshot('origin'));
    assert.equal(error.code, 'SANDBOX_BINDING_MISSING');
    assert.match(error.remediation ?? '', /\[\[durable_objects\.bindings\]\]\nname = "Sandbox"/);
  });

  for (const [name, value] of [
    ['LOCAL_BUCKET', 'yes'],
    ['DEFAULT_DIR', '/etc'],
  ] as const) {
    test(`with an invalid ${name} fails with an error that names the var`, async () => {
      await using world = await World.start({ snapshotter: { vars: { [name]: value } } });
      const error = await world.failure(world.snapshot('origin'));
      assert.equal(error.code, 'CONFIG_INVALID');
      assert.ok(error.message.includes(name));
    });
  }

  test('with a var that is not a string fails with an error that names the var', async () => {
    const vars = { LOCAL_BUCKET: true as unknown as string };
    await using world = await World.start({ snapshotter: { vars } });
    const error = await world.failure(world.snapshot('origin'));
    assert.deepEqual([error.code, error.message.includes('LOCAL_BUCKET')], ['CONFIG_INVALID', true]);
  });

  test('without credentials in production mode fails with an error that names the missing ones', async () => {
    await using world = await World.start({
      mode: 'local',
      snapshotter: { vars: { LOCAL_BUCKET: 'false' } },
    });
    await world.exec('origin', 'echo x > file');
    const error = await world.failure(world.snapshot('origin'));
    assert.equal(error.code, 'BACKUP_CONFIG_INVALID');
    assert.match(error.message, /R2_ACCESS_KEY_ID/);
    assert.deepEqual(await world.objects(), []);
  });
});
