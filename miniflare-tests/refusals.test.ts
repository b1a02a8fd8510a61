// What is refused, by what code, and that nothing was touched.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { World } from './world.ts';
import type { SnapshotRef } from '../client/src/index.ts';

describe('a call that can never work', () => {
  let world: World;
  let ref: SnapshotRef;
  let untouched: { objects: string[]; running: string[] };

  before(async () => {
    world = await World.start();
    await world.exec('origin', 'echo good > file');
    ref = await world.snapshot('origin');
    untouched = { objects: await world.objects(), running: world.running() };
  });
  after(() => world[Symbol.asyncDispose]());

  /** The call fails with the code over both transports, in the same words, and touches nothing. */
  async function refused(method: string, options: unknown, code: string) {
    const [rpc, http] = [
      await world.failure(world.rpc(method, options)),
      await world.failure(world.http(method, options)),
    ];
    assert.deepEqual([rpc.code, http.code], [code, code], rpc.message);
    assert.deepEqual(rpc.remediation, http.remediation);
    assert.ok(rpc.message.includes(http.message));
    assert.deepEqual({ objects: await world.objects(), running: world.running() }, untouched);
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
      refused('snapshot', { sandboxId }, 'INVALID_SANDBOX_ID'));
  }

  const DIRECTORIES = {
    'is relative': 'workspace',
    'goes up': '/workspace/../etc',
    'is elsewhere': '/etc',
    'only looks like a root': '/workspaces',
    'is empty': '',
  };
  for (const [what, dir] of Object.entries(DIRECTORIES)) {
    test(`a directory that ${what} is refused`, () =>
      refused('snapshot', { sandboxId: 'origin', dir }, 'INVALID_DIRECTORY'));
  }

  const LABELS = {
    'is empty': '',
    'has a control character': 'a\u0007',
    'is too long': 'x'.repeat(129),
    'ends in a blank': 'a ',
  };
  for (const [what, label] of Object.entries(LABELS)) {
    test(`a label that ${what} is refused`, () =>
      refused('snapshot', { sandboxId: 'origin', label }, 'INVALID_LABEL'));
  }

  const ARGUMENTS = {
    'no object': 'origin',
    'no sandbox id': {},
    'an unknown option': { sandboxId: 'origin', directory: '/workspace' },
    'a wrong type': { sandboxId: 'origin', excludes: 'node_modules' },
    'a time to live of the SDK': { sandboxId: 'origin', ttl: 3600 },
    'an expiration of less than a minute': { sandboxId: 'origin', expirationSeconds: 59 },
    'an expiration of more than a hundred years': { sandboxId: 'origin', expirationSeconds: 4e9 },
    'a label to replace, and none given': { sandboxId: 'origin', replace: true },
    'an empty idempotency key': { sandboxId: 'origin', idempotencyKey: '' },
    'an unknown compression': { sandboxId: 'origin', compression: { format: 'brotli' } },
  };
  for (const [what, options] of Object.entries(ARGUMENTS)) {
    test(`a call with ${what} is refused`, () => refused('snapshot', options, 'INVALID_ARGUMENT'));
  }

  test('a sandbox that never ran is not captured', () =>
    refused('snapshot', { sandboxId: 'never-ran' }, 'SANDBOX_NOT_RUNNING'));

  for (const method of ['restore', 'branch']) {
    /** The ref, changed. */
    const changed = (change: (ref: any) => void) => {
      const copy = structuredClone(ref);
      change(copy);
      return copy;
    };
    const REFS: Record<string, [string, (ref: any) => void]> = {
      'of another provider': ['FOREIGN_REF', (ref) => (ref.providerId = 'codesandbox')],
      'of a later version': ['UNSUPPORTED_REF_VERSION', (ref) => (ref.ref.schemaVersion = 2)],
      'with a field too many': ['INVALID_REF', (ref) => (ref.ref.note = 'x')],
      'with a field missing': ['INVALID_REF', (ref) => delete ref.ref.originId],
      'with half a snapshot id': [
        'INVALID_REF',
        (ref) => (ref.ref.snapshotId = ref.ref.snapshotId.slice(0, 9)),
      ],
      'with a backup id that is a path': ['INVALID_REF', (ref) => (ref.ref.backup.id = '../../x')],
      'with another snapshot id': ['REF_MISMATCH', (ref) => (ref.ref.snapshotId = 'snap-0000000000000000')],
      'with another origin': ['REF_MISMATCH', (ref) => (ref.ref.originId = 'somebody-else')],
      'with another root': ['REF_MISMATCH', (ref) => (ref.ref.rootId = 'somebody-else')],
      'with another directory': ['REF_MISMATCH', (ref) => (ref.ref.backup.dir = '/home')],
      'with another time': ['REF_MISMATCH', (ref) => (ref.ref.createdAt = '2020-01-01T00:00:00.000Z')],
      'of another backup': [
        'REF_MISMATCH',
        (ref) => (ref.ref.backup.id = '00000000-0000-4000-8000-000000000000'),
      ],
      'with a backup of more': ['REF_MISMATCH', (ref) => (ref.ref.backup.localBucket = false)],
      'without a signature': ['INVALID_REF', (ref) => delete ref.ref.signature],
      'with an empty signature': ['REF_MISMATCH', (ref) => (ref.ref.signature = '')],
      'with the signature of another time': [
        'REF_MISMATCH',
        (ref) => (ref.ref.signature = [...ref.ref.signature].reverse().join('')),
      ],
      'with a time in another spelling': [
        'INVALID_REF',
        (ref) => (ref.ref.createdAt = ref.ref.createdAt.replace('Z', '+00:00')),
      ],
    };
    for (const [what, [code, change]] of Object.entries(REFS)) {
      test(`${method} refuses a ref ${what}`, () => refused(method, { ref: changed(change) }, code));
    }
    test(`${method} refuses a ref that is cut off`, () =>
      refused(method, { ref: JSON.stringify(ref).slice(0, -9) }, 'INVALID_REF'));
    test(`${method} refuses no ref`, () => refused(method, {}, 'INVALID_ARGUMENT'));
  }
});

describe('a backup of the application itself', () => {
  test('is not restored, even by a ref that names it', async () => {
    await using world = await World.start();
    await world.exec('own', 'echo x > file');
    const ref = await world.snapshot('own');
    const backup = await world.backUp('own');
    const forged = structuredClone(ref);
    forged.ref.backup = backup;
    assert.equal((await world.failure(world.restore(forged))).code, 'REF_MISMATCH');
  });
});

describe('a deployment that lacks something', () => {
  test('without an R2 binding, says what to add to wrangler.toml, and touches nothing', async () => {
    await using world = await World.start({ snapshotter: { without: ['BACKUP_BUCKET'] } });
    const error = await world.failure(world.snapshot('origin'));
    assert.equal(error.code, 'R2_BINDING_MISSING');
    assert.match(error.message, /^R2_BINDING_MISSING: .*"BACKUP_BUCKET"/);
    assert.match(error.remediation ?? '', /\[\[r2_buckets\]\]\nbinding = "BACKUP_BUCKET"/);
    assert.deepEqual(world.running(), []);
  });

  test('without an R2 binding, that is said before anything else is looked at', async () => {
    await using world = await World.start({ snapshotter: { without: ['BACKUP_BUCKET', 'Sandbox'] } });
    for (const method of ['snapshot', 'restore', 'branch']) {
      assert.equal((await world.failure(world.rpc(method, 'nonsense'))).code, 'R2_BINDING_MISSING');
    }
  });

  test('with the R2 binding under another name, it is named', async () => {
    const vars = { BACKUP_R2_BINDING: 'SNAPSHOTS' };
    await using world = await World.start({ snapshotter: { vars } });
    assert.match((await world.failure(world.snapshot('origin'))).message, /"SNAPSHOTS"/);
  });

  test('without a binding to sandboxes, says what to add', async () => {
    await using world = await World.start({ snapshotter: { without: ['Sandbox'] } });
    const error = await world.failure(world.snapshot('origin'));
    assert.equal(error.code, 'SANDBOX_BINDING_MISSING');
    assert.match(error.remediation ?? '', /\[\[durable_objects\.bindings\]\]\nname = "Sandbox"/);
  });

  for (const [name, value] of [
    ['LOCAL_BUCKET', 'yes'],
    ['DEFAULT_DIR', '/etc'],
  ] as const) {
    test(`with a ${name} that can't be used, names the var`, async () => {
      await using world = await World.start({ snapshotter: { vars: { [name]: value } } });
      const error = await world.failure(world.snapshot('origin'));
      assert.equal(error.code, 'CONFIG_INVALID');
      assert.ok(error.message.includes(name));
    });
  }

  test('with a var that is no text, names it', async () => {
    const vars = { LOCAL_BUCKET: true as unknown as string };
    await using world = await World.start({ snapshotter: { vars } });
    const error = await world.failure(world.snapshot('origin'));
    assert.deepEqual([error.code, error.message.includes('LOCAL_BUCKET')], ['CONFIG_INVALID', true]);
  });

  test('without credentials for production, says which ones the sandbox needs', async () => {
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
